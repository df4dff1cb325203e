// Written by make generate from config/presets.toml.
// swift-format-ignore-file

extension Preset {
  /// All presets, in the order of `config/presets.toml`.
  package static let all: [Preset] = [
    rowOpenai,
    rowAnthropic,
    rowGoogleAi,
    rowMistral,
    rowGroq,
    rowOpenrouter,
    rowXai,
    rowDeepseek,
    rowHuggingface,
    rowAzureOpenai,
    rowOllamaCloud,
    rowCohere,
    rowTogether,
    rowPerplexity,
    rowElevenlabs,
    rowReplicate,
    rowGithub,
    rowGithubGit,
    rowGitlab,
    rowGitlabGit,
    rowBitbucket,
    rowNpm,
    rowPypi,
    rowPythonIndex,
    rowCargo,
    rowDockerHub,
    rowGhcr,
    rowSlack,
    rowSentry,
    rowLinear,
    rowNotion,
    rowJira,
    rowConfluence,
    rowAirtable,
    rowCloudflare,
    rowDigitalocean,
    rowHetzner,
    rowStripe,
    rowSendgrid,
    rowTwilio,
    rowVault,
    rowGenericBearer,
    rowGenericBasic,
    rowGeneric,
  ]

  private static let rowOpenai = Preset(
    name: "openai", title: "OpenAI", origin: "https://api.openai.com",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: ["sk-"],
    create: "https://platform.openai.com/api-keys", scope: "Create a project key. If programs need only the models, restrict the key to \"Model capabilities\".",
    variables: [Variable(name: "OPENAI_BASE_URL", value: "{url}/v1", isKey: false), Variable(name: "OPENAI_API_KEY", value: "sk-bearerd-adds-the-real-key", isKey: true)],
    notes: "",
    rules: [Rule(match: "/v1/organization/**", methods: [], isDenied: true, reason: "administration of the organization, and its keys"), Rule(match: "/v1/realtime/client_secrets", methods: [], isDenied: true, reason: "creates a secret that works without bearerd"), Rule(match: "/v1/realtime/sessions", methods: [], isDenied: true, reason: "creates a secret that works without bearerd"), Rule(match: "/v1/realtime/transcription_sessions", methods: [], isDenied: true, reason: "creates a secret that works without bearerd"), Rule(match: "/v1/chatkit/sessions", methods: [], isDenied: true, reason: "creates a secret that works without bearerd"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/v1/models", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowAnthropic = Preset(
    name: "anthropic", title: "Anthropic", origin: "https://api.anthropic.com",
    questions: [],
    scheme: .header(name: "x-api-key", prefix: ""),
    key: "API key", keyPrefixes: ["sk-ant-"],
    create: "https://platform.claude.com/settings/keys", scope: "Create a key for one workspace, with an expiration date. Do not use an admin key.",
    variables: [Variable(name: "ANTHROPIC_BASE_URL", value: "{url}", isKey: false), Variable(name: "ANTHROPIC_API_KEY", value: "sk-ant-bearerd-adds-the-real-key", isKey: true)],
    notes: "Claude Code asks once whether to use the key from the environment: answer yes. Claude Code works through bearerd only with an API key, not with a Claude subscription.",
    rules: [Rule(match: "/v1/organizations/**", methods: [], isDenied: true, reason: "administration of the organization, and its keys"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/v1/models", headers: [("anthropic-version", "2023-06-01")], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowGoogleAi = Preset(
    name: "google-ai", title: "Google Gemini", origin: "https://generativelanguage.googleapis.com",
    questions: [],
    scheme: .header(name: "x-goog-api-key", prefix: ""),
    key: "API key", keyPrefixes: [],
    create: "https://aistudio.google.com/apikey", scope: "Restrict the key to the Generative Language API in the Google Cloud console.",
    variables: [Variable(name: "GOOGLE_GEMINI_BASE_URL", value: "{url}", isKey: false), Variable(name: "GEMINI_API_KEY", value: "bearerd-adds-the-real-key", isKey: true)],
    notes: "The variables are for the google-genai libraries. Pass {url}/v1beta/openai/ as the base URL to an OpenAI library. This preset is not for Vertex AI, which has another origin and other credentials.",
    rules: [Rule(match: "/*/auth_tokens**", methods: [], isDenied: true, reason: "creates a token that works without bearerd"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/v1beta/models", headers: [], rejected: 400),
    hidesRejection: false, at: nil)

  private static let rowMistral = Preset(
    name: "mistral", title: "Mistral AI", origin: "https://api.mistral.ai",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: [],
    create: "https://console.mistral.ai/api-keys", scope: "Create a key for one workspace, with an expiration date.",
    variables: [],
    notes: "The Mistral libraries read no environment variable for the base URL. Pass server_url=\"{url}\" in Python or serverURL: \"{url}\" in TypeScript, and any text as the key.",
    rules: [],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/v1/models", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowGroq = Preset(
    name: "groq", title: "Groq", origin: "https://api.groq.com",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: ["gsk_"],
    create: "https://console.groq.com/keys", scope: "Keys have no scopes. Create the key in a project with its own limits.",
    variables: [Variable(name: "GROQ_BASE_URL", value: "{url}", isKey: false), Variable(name: "GROQ_API_KEY", value: "gsk_bearerd-adds-the-real-key", isKey: true)],
    notes: "Pass {url}/openai/v1 as the base URL to an OpenAI library.",
    rules: [],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/openai/v1/models", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowOpenrouter = Preset(
    name: "openrouter", title: "OpenRouter", origin: "https://openrouter.ai",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: ["sk-or-"],
    create: "https://openrouter.ai/settings/keys", scope: "Set a credit limit on the key. Do not use a management key.",
    variables: [Variable(name: "OPENROUTER_BASE_URL", value: "{url}/api/v1", isKey: false), Variable(name: "OPENROUTER_API_KEY", value: "sk-or-bearerd-adds-the-real-key", isKey: true), Variable(name: "OPENAI_BASE_URL", value: "{url}/api/v1", isKey: false), Variable(name: "OPENAI_API_KEY", value: "sk-or-bearerd-adds-the-real-key", isKey: true)],
    notes: "The OPENAI variables are for programs that call OpenRouter with an OpenAI library. OpenRouter's TypeScript library reads OPENROUTER_BASE_URL since August 2026. To an older version, pass serverURL: \"{url}/api/v1\". To the Python library, pass server_url=\"{url}/api/v1\".",
    rules: [Rule(match: "/api/v1/keys**", methods: [], isDenied: true, reason: "administration of keys"), Rule(match: "/api/v1/auth/keys**", methods: [], isDenied: true, reason: "creates keys"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/api/v1/key", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowXai = Preset(
    name: "xai", title: "xAI", origin: "https://api.x.ai",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: ["xai-"],
    create: "https://console.x.ai/", scope: "Restrict the key to the models and endpoints that programs need.",
    variables: [Variable(name: "OPENAI_BASE_URL", value: "{url}/v1", isKey: false), Variable(name: "OPENAI_API_KEY", value: "xai-bearerd-adds-the-real-key", isKey: true)],
    notes: "The variables are for programs that call xAI with an OpenAI library. The xai_sdk library does not work through bearerd, because it speaks gRPC.",
    rules: [],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/v1/models", headers: [], rejected: 400),
    hidesRejection: false, at: nil)

  private static let rowDeepseek = Preset(
    name: "deepseek", title: "DeepSeek", origin: "https://api.deepseek.com",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: ["sk-"],
    create: "https://platform.deepseek.com/api_keys", scope: "Keys have no scopes.",
    variables: [Variable(name: "OPENAI_BASE_URL", value: "{url}", isKey: false), Variable(name: "OPENAI_API_KEY", value: "sk-bearerd-adds-the-real-key", isKey: true)],
    notes: "The variables are for programs that call DeepSeek with an OpenAI library. For an Anthropic library, set ANTHROPIC_BASE_URL={url}/anthropic and use any text as the key.",
    rules: [],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/models", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowHuggingface = Preset(
    name: "huggingface", title: "Hugging Face", origin: "https://huggingface.co",
    questions: [],
    scheme: .bearer,
    key: "access token", keyPrefixes: ["hf_"],
    create: "https://huggingface.co/settings/tokens", scope: "Create a token of the type \"Read\", or a fine-grained token for the repositories that programs need.",
    variables: [Variable(name: "HF_ENDPOINT", value: "{url}", isKey: false), Variable(name: "HF_HUB_DISABLE_XET", value: "1", isKey: false), Variable(name: "HF_TOKEN", value: "hf_bearerd-adds-the-real-token", isKey: true)],
    notes: "HF_HUB_DISABLE_XET=1 makes the library download over plain HTTP, and not with Xet. Inference has another origin, https://router.huggingface.co. Add this origin with the preset generic-bearer, and pass the URL of the new service, followed by /v1, to an OpenAI library.",
    rules: [],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/api/whoami-v2", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowAzureOpenai = Preset(
    name: "azure-openai", title: "Azure OpenAI", origin: "https://{resource}.openai.azure.com",
    questions: [Question(name: "resource", prompt: "Name of the Azure OpenAI resource", example: "my-resource", pattern: Question.Pattern(rawValue: "host-label")!)],
    scheme: .header(name: "api-key", prefix: ""),
    key: "API key", keyPrefixes: [],
    create: "https://portal.azure.com/", scope: "Use key 1 or key 2 under \"Keys and Endpoint\" of the resource. Keys have no scopes.",
    variables: [Variable(name: "AZURE_OPENAI_ENDPOINT", value: "{url}", isKey: false), Variable(name: "AZURE_OPENAI_API_KEY", value: "bearerd-adds-the-real-key", isKey: true)],
    notes: "The AzureOpenAI client also needs OPENAI_API_VERSION. In Node, OPENAI_BASE_URL must not be set. Pass {url}/openai/v1/ as the base URL to the plain OpenAI client.",
    rules: [],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/openai/v1/models", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowOllamaCloud = Preset(
    name: "ollama-cloud", title: "Ollama Cloud", origin: "https://ollama.com",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: [],
    create: "https://ollama.com/settings/keys", scope: "Keys have no scopes and do not expire.",
    variables: [Variable(name: "OLLAMA_HOST", value: "{url}", isKey: false), Variable(name: "OLLAMA_API_KEY", value: "bearerd-adds-the-real-key", isKey: true)],
    notes: "The JavaScript library reads no environment variable. Pass host: \"{url}\" to this library. Pass {url}/v1 as the base URL to an OpenAI library.",
    rules: [],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "POST", path: "/api/me", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowCohere = Preset(
    name: "cohere", title: "Cohere", origin: "https://api.cohere.com",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: [],
    create: "https://dashboard.cohere.com/api-keys", scope: "Create a production key, or a trial key for tests. Keys have no scopes.",
    variables: [Variable(name: "CO_API_URL", value: "{url}", isKey: false), Variable(name: "CO_API_KEY", value: "bearerd-adds-the-real-key", isKey: true)],
    notes: "CO_API_URL is for the Python library. Pass the base URL {url} to the other libraries.",
    rules: [],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/v1/models", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowTogether = Preset(
    name: "together", title: "Together AI", origin: "https://api.together.xyz",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: [],
    create: "https://api.together.ai/settings/api-keys", scope: "Create a project key.",
    variables: [Variable(name: "TOGETHER_BASE_URL", value: "{url}/v1", isKey: false), Variable(name: "TOGETHER_API_KEY", value: "bearerd-adds-the-real-key", isKey: true)],
    notes: "",
    rules: [],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/v1/models", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowPerplexity = Preset(
    name: "perplexity", title: "Perplexity", origin: "https://api.perplexity.ai",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: ["pplx-"],
    create: "https://www.perplexity.ai/account/api/keys", scope: "Keys have no scopes.",
    variables: [Variable(name: "PERPLEXITY_BASE_URL", value: "{url}", isKey: false), Variable(name: "PERPLEXITY_API_KEY", value: "pplx-bearerd-adds-the-real-key", isKey: true)],
    notes: "",
    rules: [Rule(match: "/generate_auth_token", methods: [], isDenied: true, reason: "creates keys"), Rule(match: "/revoke_auth_token", methods: [], isDenied: true, reason: "revokes keys"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/async/chat/completions", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowElevenlabs = Preset(
    name: "elevenlabs", title: "ElevenLabs", origin: "https://api.elevenlabs.io",
    questions: [],
    scheme: .header(name: "xi-api-key", prefix: ""),
    key: "API key", keyPrefixes: [],
    create: "https://elevenlabs.io/app/settings/api-keys", scope: "Restrict the key to the features that programs need. Allow the key to read models, because the trial request reads them.",
    variables: [],
    notes: "The libraries read no environment variable for the base URL. Pass base_url=\"{url}\" in Python or baseUrl: \"{url}\" in JavaScript, and any text as the key.",
    rules: [Rule(match: "/v1/service-accounts**", methods: [], isDenied: true, reason: "creates keys"), Rule(match: "/v1/single-use-token/**", methods: [], isDenied: true, reason: "creates a token that works without bearerd"), Rule(match: "/v1/user", methods: [], isDenied: true, reason: "the response can contain the key"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/v1/models", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowReplicate = Preset(
    name: "replicate", title: "Replicate", origin: "https://api.replicate.com",
    questions: [],
    scheme: .bearer,
    key: "API token", keyPrefixes: ["r8_"],
    create: "https://replicate.com/account/api-tokens", scope: "Tokens have no scopes.",
    variables: [Variable(name: "REPLICATE_BASE_URL", value: "{url}", isKey: false), Variable(name: "REPLICATE_API_TOKEN", value: "r8_bearerd-adds-the-real-token", isKey: true)],
    notes: "REPLICATE_BASE_URL is for version 1 of the Python library. For version 2, set this variable to {url}/v1. Pass baseUrl: \"{url}/v1\" to the JavaScript library.",
    rules: [],
    readOnlyRules: [],
    hasNoTimeLimit: true, trial: Trial(method: "GET", path: "/v1/account", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowGithub = Preset(
    name: "github", title: "GitHub API", origin: "https://api.github.com",
    questions: [],
    scheme: .bearer,
    key: "personal access token", keyPrefixes: ["github_pat_", "ghp_", "gho_", "ghu_", "ghs_"],
    create: "https://github.com/settings/personal-access-tokens/new", scope: "Create a fine-grained token for the repositories that programs need, with an expiration date.",
    variables: [Variable(name: "GITHUB_API_URL", value: "{url}", isKey: false), Variable(name: "GITHUB_TOKEN", value: "bearerd-adds-the-real-token", isKey: true)],
    notes: "GITHUB_API_URL is for scripts and for the libraries of GitHub Actions. Pass baseUrl: \"{url}\" to Octokit and base_url=\"{url}\" to PyGithub. The gh command can use bearerd only through a Unix socket. Create a listener on a Unix socket, and use this listener only for this service. In the service, write at: /. Then run gh config set http_unix_socket PATH. Release assets are uploaded to another origin, https://uploads.github.com. Git has its own preset, github-git.",
    rules: [Rule(match: "/repos/*/*/actions/secrets**", methods: [], isDenied: true, reason: "secrets of Actions"), Rule(match: "/repos/*/*/environments/*/secrets**", methods: [], isDenied: true, reason: "secrets of environments"), Rule(match: "/repos/*/*/codespaces/secrets**", methods: [], isDenied: true, reason: "secrets of Codespaces"), Rule(match: "/repos/*/*/dependabot/secrets**", methods: [], isDenied: true, reason: "secrets of Dependabot"), Rule(match: "/repos/*/*/keys**", methods: [], isDenied: true, reason: "deploy keys"), Rule(match: "/repos/*/*/actions/runners/**", methods: [], isDenied: true, reason: "creates tokens for runners"), Rule(match: "/repositories/*/**secrets**", methods: [], isDenied: true, reason: "secrets, in URLs with a repository ID"), Rule(match: "/repositories/*/keys**", methods: [], isDenied: true, reason: "deploy keys, in URLs with a repository ID"), Rule(match: "/repositories/*/actions/runners/**", methods: [], isDenied: true, reason: "creates tokens for runners"), Rule(match: "/orgs/*/actions/secrets**", methods: [], isDenied: true, reason: "secrets of Actions"), Rule(match: "/orgs/*/codespaces/secrets**", methods: [], isDenied: true, reason: "secrets of Codespaces"), Rule(match: "/orgs/*/dependabot/secrets**", methods: [], isDenied: true, reason: "secrets of Dependabot"), Rule(match: "/orgs/*/actions/runners/**", methods: [], isDenied: true, reason: "creates tokens for runners"), Rule(match: "/organizations/*/**secrets**", methods: [], isDenied: true, reason: "secrets, in URLs with an organization ID"), Rule(match: "/organizations/*/actions/runners/**", methods: [], isDenied: true, reason: "creates tokens for runners"), Rule(match: "/enterprises/*/actions/runners/**", methods: [], isDenied: true, reason: "creates tokens for runners"), Rule(match: "/user/keys**", methods: [], isDenied: true, reason: "SSH keys of the account"), Rule(match: "/user/ssh_signing_keys**", methods: [], isDenied: true, reason: "signing keys of the account"), Rule(match: "/user/gpg_keys**", methods: [], isDenied: true, reason: "signing keys of the account"), Rule(match: "/user/codespaces/secrets**", methods: [], isDenied: true, reason: "secrets of Codespaces"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/rate_limit", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowGithubGit = Preset(
    name: "github-git", title: "GitHub over git", origin: "https://github.com",
    questions: [],
    scheme: .basic(user: "x-access-token"),
    key: "personal access token", keyPrefixes: ["github_pat_", "ghp_", "gho_", "ghu_", "ghs_"],
    create: "https://github.com/settings/personal-access-tokens/new", scope: "Create a fine-grained token for the repositories that programs need. Set \"Contents\" to read-only if programs only clone and fetch, or to read and write if they also push.",
    variables: [Variable(name: "GIT_CONFIG_COUNT", value: "1", isKey: false), Variable(name: "GIT_CONFIG_KEY_0", value: "url.{url}/.insteadOf", isKey: false), Variable(name: "GIT_CONFIG_VALUE_0", value: "https://github.com/", isKey: false), Variable(name: "GIT_TERMINAL_PROMPT", value: "0", isKey: false)],
    notes: "Remotes keep their https://github.com/ URL, and git sends their requests to bearerd. SSH remotes (git@github.com:) do not use bearerd. For git-lfs, also set lfs.transfer.enablehrefrewrite=true. The REST API has its own preset, github.",
    rules: [Rule(match: "/**/info/refs", methods: ["GET"], isDenied: false, reason: "lists branches and tags"), Rule(match: "/**/git-upload-pack", methods: ["POST"], isDenied: false, reason: "fetch"), Rule(match: "/**/git-receive-pack", methods: ["POST"], isDenied: false, reason: "push"), Rule(match: "/**/info/lfs/**", methods: [], isDenied: false, reason: "git-lfs")],
    readOnlyRules: [Rule(match: "/**/info/refs", methods: ["GET"], isDenied: false, reason: "lists branches and tags"), Rule(match: "/**/git-upload-pack", methods: ["POST"], isDenied: false, reason: "fetch")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/octocat/Hello-World.git/info/refs?service=git-upload-pack", headers: [], rejected: 401),
    hidesRejection: true, at: nil)

  private static let rowGitlab = Preset(
    name: "gitlab", title: "GitLab API", origin: "https://{server}",
    questions: [Question(name: "server", prompt: "Host name of the GitLab server", example: "gitlab.com", pattern: Question.Pattern(rawValue: "host")!)],
    scheme: .header(name: "PRIVATE-TOKEN", prefix: ""),
    key: "personal access token", keyPrefixes: [],
    create: "https://{server}/-/user_settings/personal_access_tokens", scope: "Choose read_api if programs only read, otherwise api. A project access token works only for one project.",
    variables: [Variable(name: "GITLAB_BASE_URL", value: "{url}/api/v4/", isKey: false), Variable(name: "GITLAB_TOKEN", value: "bearerd-adds-the-real-token", isKey: true)],
    notes: "GITLAB_BASE_URL is for the Terraform provider. Pass {url} as the URL of the server to python-gitlab, and as host to GitBeaker. The glab command does not work through bearerd: it reads the placeholder in GITLAB_TOKEN and sends it to the real server. Git has its own preset, gitlab-git.",
    rules: [Rule(match: "/api/v4/personal_access_tokens**", methods: [], isDenied: true, reason: "lists and rotates tokens"), Rule(match: "/api/v4/user/personal_access_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v4/users/*/personal_access_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v4/users/*/impersonation_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v4/user/runners", methods: [], isDenied: true, reason: "creates tokens for runners"), Rule(match: "/api/v4/user/keys**", methods: [], isDenied: true, reason: "SSH keys of the account"), Rule(match: "/api/v4/user/gpg_keys**", methods: [], isDenied: true, reason: "signing keys of the account"), Rule(match: "/api/v4/projects/*/access_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v4/projects/*/deploy_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v4/projects/*/deploy_keys**", methods: [], isDenied: true, reason: "deploy keys"), Rule(match: "/api/v4/projects/*/triggers**", methods: [], isDenied: true, reason: "tokens of pipeline triggers"), Rule(match: "/api/v4/projects/*/variables**", methods: [], isDenied: true, reason: "CI variables, with their values"), Rule(match: "/api/v4/projects/*/pipelines/*/variables", methods: [], isDenied: true, reason: "variables of a pipeline, with their values"), Rule(match: "/api/v4/projects/*/pipeline_schedules/**", methods: [], isDenied: true, reason: "variables of a schedule, with their values"), Rule(match: "/api/v4/groups/*/access_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v4/groups/*/deploy_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v4/groups/*/service_accounts/*/personal_access_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v4/groups/*/variables**", methods: [], isDenied: true, reason: "CI variables, with their values"), Rule(match: "/api/v4/admin/**", methods: [], isDenied: true, reason: "administration of the server"), Rule(match: "/api/graphql", methods: [], isDenied: true, reason: "GraphQL reads CI variables and creates tokens"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/api/v4/projects/*/variables**", methods: [], isDenied: true, reason: "CI variables, with their values"), Rule(match: "/api/v4/projects/*/pipelines/*/variables", methods: [], isDenied: true, reason: "variables of a pipeline, with their values"), Rule(match: "/api/v4/projects/*/pipeline_schedules/**", methods: [], isDenied: true, reason: "variables of a schedule, with their values"), Rule(match: "/api/v4/groups/*/variables**", methods: [], isDenied: true, reason: "CI variables, with their values"), Rule(match: "/api/v4/projects/*/triggers**", methods: [], isDenied: true, reason: "tokens of pipeline triggers"), Rule(match: "/api/v4/admin/**", methods: [], isDenied: true, reason: "administration of the server"), Rule(match: "/api/graphql", methods: [], isDenied: true, reason: "GraphQL reads CI variables"), Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/api/v4/user", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowGitlabGit = Preset(
    name: "gitlab-git", title: "GitLab over git", origin: "https://{server}",
    questions: [Question(name: "server", prompt: "Host name of the GitLab server", example: "gitlab.com", pattern: Question.Pattern(rawValue: "host")!)],
    scheme: .basic(user: "oauth2"),
    key: "personal access token", keyPrefixes: [],
    create: "https://{server}/-/user_settings/personal_access_tokens", scope: "Choose read_repository if programs clone and fetch, and write_repository if they push.",
    variables: [Variable(name: "GIT_CONFIG_COUNT", value: "1", isKey: false), Variable(name: "GIT_CONFIG_KEY_0", value: "url.{url}/.insteadOf", isKey: false), Variable(name: "GIT_CONFIG_VALUE_0", value: "https://{origin_host}/", isKey: false), Variable(name: "GIT_TERMINAL_PROMPT", value: "0", isKey: false)],
    notes: "Remotes keep their https://{origin_host}/ URL, and git sends their requests to bearerd. SSH remotes do not use bearerd. For git-lfs, also set lfs.transfer.enablehrefrewrite=true.",
    rules: [Rule(match: "/**/info/refs", methods: ["GET"], isDenied: false, reason: "lists branches and tags"), Rule(match: "/**/git-upload-pack", methods: ["POST"], isDenied: false, reason: "fetch"), Rule(match: "/**/git-receive-pack", methods: ["POST"], isDenied: false, reason: "push"), Rule(match: "/**/info/lfs/**", methods: [], isDenied: false, reason: "git-lfs"), Rule(match: "/**/gitlab-lfs/**", methods: [], isDenied: false, reason: "git-lfs")],
    readOnlyRules: [Rule(match: "/**/info/refs", methods: ["GET"], isDenied: false, reason: "lists branches and tags"), Rule(match: "/**/git-upload-pack", methods: ["POST"], isDenied: false, reason: "fetch")],
    hasNoTimeLimit: false, trial: nil,
    hidesRejection: true, at: nil)

  private static let rowBitbucket = Preset(
    name: "bitbucket", title: "Bitbucket API", origin: "https://api.bitbucket.org",
    questions: [Question(name: "email", prompt: "E-mail address of the Atlassian account", example: "alice@example.com", pattern: Question.Pattern(rawValue: "email")!)],
    scheme: .basic(user: "{email}"),
    key: "API token", keyPrefixes: ["ATATT"],
    create: "https://id.atlassian.com/manage-profile/security/api-tokens", scope: "Create an API token with scopes, and choose Bitbucket as its app. Add the scope read:user:bitbucket for the trial request, and the scopes that programs need.",
    variables: [],
    notes: "Pass {url}/2.0 as the base URL to a client library. Use an API token, not an app password. Git uses another origin, https://bitbucket.org, with the user x-bitbucket-api-token-auth. Add this origin with the preset generic-basic.",
    rules: [Rule(match: "/2.0/repositories/*/*/pipelines_config/variables**", methods: [], isDenied: true, reason: "variables of pipelines, with their values"), Rule(match: "/2.0/repositories/*/*/pipelines_config/ssh/**", methods: [], isDenied: true, reason: "SSH keys of pipelines"), Rule(match: "/2.0/repositories/*/*/deployments_config/**", methods: [], isDenied: true, reason: "variables of deployments, with their values"), Rule(match: "/2.0/repositories/*/*/deploy-keys**", methods: [], isDenied: true, reason: "deploy keys"), Rule(match: "/2.0/workspaces/*/pipelines-config/variables**", methods: [], isDenied: true, reason: "variables of pipelines, with their values"), Rule(match: "/2.0/users/*/ssh-keys**", methods: [], isDenied: true, reason: "SSH keys of the account"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/2.0/repositories/*/*/pipelines_config/variables**", methods: [], isDenied: true, reason: "variables of pipelines, with their values"), Rule(match: "/2.0/repositories/*/*/deployments_config/**", methods: [], isDenied: true, reason: "variables of deployments, with their values"), Rule(match: "/2.0/workspaces/*/pipelines-config/variables**", methods: [], isDenied: true, reason: "variables of pipelines, with their values"), Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/2.0/user", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowNpm = Preset(
    name: "npm", title: "npm", origin: "https://registry.npmjs.org",
    questions: [],
    scheme: .bearer,
    key: "access token", keyPrefixes: ["npm_"],
    create: "https://www.npmjs.com/settings/~/tokens", scope: "Create a granular token for the packages that programs need. Choose read-only if programs only install, or read and write if they publish.",
    variables: [Variable(name: "npm_config_registry", value: "{url}/", isKey: false), Variable(name: "npm_config_replace_registry_host", value: "always", isKey: false)],
    notes: "npm install needs no other setting. To publish, npm needs a placeholder for the token: add the line \"//{host}/npm/:_authToken=bearerd\" to ~/.npmrc. If your service has another name, write this name in place of npm. Other package managers may download archives directly from the full URL in a response. Such a download does not use bearerd, and has no key.",
    rules: [Rule(match: "/-/npm/v1/tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/-/user/**", methods: [], isDenied: true, reason: "a login creates a token"), Rule(match: "/-/v1/login**", methods: [], isDenied: true, reason: "a login creates a token"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/-/npm/v1/tokens**", methods: [], isDenied: true, reason: "lists tokens"), Rule(match: "/-/npm/v1/security/**", methods: ["POST"], isDenied: false, reason: "npm audit"), Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/-/whoami", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowPypi = Preset(
    name: "pypi", title: "PyPI uploads", origin: "https://upload.pypi.org",
    questions: [],
    scheme: .basic(user: "__token__"),
    key: "API token", keyPrefixes: ["pypi-"],
    create: "https://pypi.org/manage/account/token/", scope: "Create a token for one project, not for the whole account.",
    variables: [Variable(name: "TWINE_REPOSITORY_URL", value: "{url}/legacy/", isKey: false), Variable(name: "TWINE_USERNAME", value: "__token__", isKey: false), Variable(name: "TWINE_PASSWORD", value: "pypi-bearerd-adds-the-real-token", isKey: true), Variable(name: "UV_PUBLISH_URL", value: "{url}/legacy/", isKey: false), Variable(name: "UV_PUBLISH_TOKEN", value: "pypi-bearerd-adds-the-real-token", isKey: true)],
    notes: "The variables are for twine and uv publish. pip installs from https://pypi.org without a token, so pip needs no service. For a private index, use the preset python-index.",
    rules: [Rule(match: "/legacy/", methods: ["POST"], isDenied: false, reason: "uploads a file")],
    readOnlyRules: [],
    hasNoTimeLimit: false, trial: nil,
    hidesRejection: false, at: nil)

  private static let rowPythonIndex = Preset(
    name: "python-index", title: "Private index of Python packages", origin: "{origin}",
    questions: [Question(name: "origin", prompt: "Origin of the index", example: "https://pypi.example.com", pattern: Question.Pattern(rawValue: "origin")!), Question(name: "user", prompt: "User name", example: "alice", pattern: Question.Pattern(rawValue: "user")!)],
    scheme: .basic(user: "{user}"),
    key: "password or token", keyPrefixes: [],
    create: "", scope: "If programs only install, read access is enough.",
    variables: [Variable(name: "PIP_INDEX_URL", value: "{url}/simple/", isKey: false), Variable(name: "UV_DEFAULT_INDEX", value: "{url}/simple/", isKey: false)],
    notes: "If the path of the index is not /simple/, set PIP_INDEX_URL and UV_DEFAULT_INDEX to {url}, followed by the path of the index. In the index, the links to archives must be relative, or lead to URLs below the path of this service.",
    rules: [],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: nil,
    hidesRejection: true, at: nil)

  private static let rowCargo = Preset(
    name: "cargo", title: "crates.io", origin: "https://crates.io",
    questions: [],
    scheme: .header(name: "Authorization", prefix: ""),
    key: "API token", keyPrefixes: ["cio"],
    create: "https://crates.io/settings/tokens/new", scope: "Choose publish-update for the crates that programs publish, with an expiration date.",
    variables: [],
    notes: "cargo publish cannot use bearerd, because cargo takes the address of the API from the index of crates.io. Scripts can call {url}/api/v1/..., and need a User-Agent field. cargo build needs no token and no service.",
    rules: [Rule(match: "/api/v1/me/tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v1/tokens/**", methods: [], isDenied: true, reason: "revokes the token"), Rule(match: "/api/v1/trusted_publishing/**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/v1/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/api/v1/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: nil,
    hidesRejection: false, at: nil)

  private static let rowDockerHub = Preset(
    name: "docker-hub", title: "Docker Hub", origin: "https://registry-1.docker.io",
    questions: [Question(name: "user", prompt: "Docker ID", example: "alice", pattern: Question.Pattern(rawValue: "user")!)],
    scheme: .registry(realm: "https://auth.docker.io/token", user: "{user}"),
    key: "personal access token", keyPrefixes: ["dckr_pat_", "dckr_oat_"],
    create: "https://app.docker.com/settings/personal-access-tokens", scope: "Choose \"Read-only\" to pull, and \"Read & Write\" to push.",
    variables: [],
    notes: "You need no docker login. Pull with podman pull --tls-verify=false {host}/library/alpine. An official image needs library/ before its name. For Docker, add root to allow_users of the listener, because Docker's daemon connects as root.",
    rules: [Rule(match: "/v2/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/v2/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/v2/", headers: [], rejected: 401),
    hidesRejection: false, at: "localhost:5000")

  private static let rowGhcr = Preset(
    name: "ghcr", title: "GitHub Container Registry", origin: "https://ghcr.io",
    questions: [Question(name: "user", prompt: "GitHub user name", example: "octocat", pattern: Question.Pattern(rawValue: "user")!)],
    scheme: .registry(realm: "https://ghcr.io/token", user: "{user}"),
    key: "personal access token (classic)", keyPrefixes: ["ghp_", "gho_", "ghs_"],
    create: "https://github.com/settings/tokens/new", scope: "Create a classic token, with read:packages to pull and write:packages to push. Fine-grained tokens do not work.",
    variables: [],
    notes: "You need no docker login. Pull with podman pull --tls-verify=false {host}/OWNER/IMAGE. For Docker, add root to allow_users of the listener, because Docker's daemon connects as root.",
    rules: [Rule(match: "/v2/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/v2/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/v2/", headers: [], rejected: 401),
    hidesRejection: false, at: "localhost:5001")

  private static let rowSlack = Preset(
    name: "slack", title: "Slack", origin: "https://slack.com",
    questions: [],
    scheme: .bearer,
    key: "bot token", keyPrefixes: ["xoxb-", "xoxp-", "xoxe", "xapp-"],
    create: "https://api.slack.com/apps", scope: "Use the bot token under \"OAuth & Permissions\" of your app, with the scopes that programs need.",
    variables: [],
    notes: "The libraries read no environment variable for the base URL. Pass base_url=\"{url}/api/\" in Python or slackApiUrl: \"{url}/api/\" in JavaScript, and any text as the token. Slack responds to a bad token with 200 and \"ok\": false in the body. Incoming webhooks have another origin, https://hooks.slack.com.",
    rules: [],
    readOnlyRules: [Rule(match: "/api/auth.test", methods: ["GET", "POST"], isDenied: false, reason: ""), Rule(match: "/api/*.list", methods: ["GET", "POST"], isDenied: false, reason: ""), Rule(match: "/api/*.info", methods: ["GET", "POST"], isDenied: false, reason: ""), Rule(match: "/api/*.get", methods: ["GET", "POST"], isDenied: false, reason: ""), Rule(match: "/api/*.history", methods: ["GET", "POST"], isDenied: false, reason: ""), Rule(match: "/api/*.replies", methods: ["GET", "POST"], isDenied: false, reason: ""), Rule(match: "/api/*.members", methods: ["GET", "POST"], isDenied: false, reason: ""), Rule(match: "/api/*.getPermalink", methods: ["GET", "POST"], isDenied: false, reason: ""), Rule(match: "/api/*.lookupByEmail", methods: ["GET", "POST"], isDenied: false, reason: ""), Rule(match: "/api/search.*", methods: ["GET", "POST"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: nil,
    hidesRejection: false, at: nil)

  private static let rowSentry = Preset(
    name: "sentry", title: "Sentry", origin: "https://{server}",
    questions: [Question(name: "server", prompt: "Host name of the Sentry server (de.sentry.io for data in the EU)", example: "sentry.io", pattern: Question.Pattern(rawValue: "host")!)],
    scheme: .bearer,
    key: "auth token", keyPrefixes: [],
    create: "https://{server}/settings/account/api/auth-tokens/", scope: "Create a personal token with the scopes that programs need. Reading errors needs project:read, event:read and org:read. Creating releases needs project:releases.",
    variables: [Variable(name: "SENTRY_URL", value: "{url}", isKey: false), Variable(name: "SENTRY_AUTH_TOKEN", value: "sntryu_0000000000000000000000000000000000000000000000000000000000000000", isKey: true)],
    notes: "The variables are for sentry-cli. sentry-cli uploads source maps and debug files to an address that the server names. If this address is a full URL, the upload does not go through bearerd and fails. The DSN, with which programs report errors, is not a secret. Do not change the DSN.",
    rules: [Rule(match: "/api/0/api-tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/0/organizations/*/org-auth-tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/api/0/sentry-apps/*/api-tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/api/0/api-tokens**", methods: [], isDenied: true, reason: "lists tokens"), Rule(match: "/api/0/sentry-apps/*/api-tokens**", methods: [], isDenied: true, reason: "lists tokens"), Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/api/0/", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowLinear = Preset(
    name: "linear", title: "Linear", origin: "https://api.linear.app",
    questions: [],
    scheme: .header(name: "Authorization", prefix: ""),
    key: "personal API key", keyPrefixes: ["lin_api_"],
    create: "https://linear.app/settings/account/security", scope: "Choose the teams that programs need. If programs only read, choose \"Read\".",
    variables: [],
    notes: "The library reads no environment variable. Pass apiUrl: \"{url}/graphql\" to LinearClient, and any text as apiKey. All requests are GraphQL, so rules cannot separate reading from writing. If programs only read, choose \"Read\" when you create the key.",
    rules: [Rule(match: "/graphql", methods: ["POST"], isDenied: false, reason: "")],
    readOnlyRules: [],
    hasNoTimeLimit: false, trial: nil,
    hidesRejection: false, at: nil)

  private static let rowNotion = Preset(
    name: "notion", title: "Notion", origin: "https://api.notion.com",
    questions: [],
    scheme: .bearer,
    key: "integration secret", keyPrefixes: ["ntn_", "secret_"],
    create: "https://www.notion.so/profile/integrations", scope: "Create an internal integration with \"Read content\", and with more capabilities only if programs write. In Notion, give this integration access to the pages that programs need.",
    variables: [],
    notes: "The library reads no environment variable. Pass baseUrl: \"{url}\" to the Client, and any text as auth.",
    rules: [],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: ""), Rule(match: "/v1/search", methods: ["POST"], isDenied: false, reason: "search"), Rule(match: "/v1/databases/*/query", methods: ["POST"], isDenied: false, reason: "reads the rows of a database"), Rule(match: "/v1/data_sources/*/query", methods: ["POST"], isDenied: false, reason: "reads the rows of a data source")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/v1/users/me", headers: [("Notion-Version", "2022-06-28")], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowJira = Preset(
    name: "jira", title: "Jira Cloud", origin: "https://{site}.atlassian.net",
    questions: [Question(name: "site", prompt: "Name of the Atlassian site, the first part of its host name", example: "my-company", pattern: Question.Pattern(rawValue: "host-label")!), Question(name: "email", prompt: "E-mail address of the Atlassian account", example: "alice@example.com", pattern: Question.Pattern(rawValue: "email")!)],
    scheme: .basic(user: "{email}"),
    key: "API token", keyPrefixes: ["ATATT"],
    create: "https://id.atlassian.com/manage-profile/security/api-tokens", scope: "Create an API token without scopes, because tokens with scopes work only at https://api.atlassian.com. The token can do everything that you can do.",
    variables: [],
    notes: "Pass {url} as the server to a client library, and any text as user and token. The token also gives access to Confluence on the same site.",
    rules: [],
    readOnlyRules: [Rule(match: "/rest/api/*/search**", methods: ["GET", "HEAD", "POST"], isDenied: false, reason: "search"), Rule(match: "/rest/api/*/jql/**", methods: ["GET", "HEAD", "POST"], isDenied: false, reason: "checks queries"), Rule(match: "/rest/api/*/issue/bulkfetch", methods: ["POST"], isDenied: false, reason: "reads several issues"), Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/rest/api/3/myself", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowConfluence = Preset(
    name: "confluence", title: "Confluence Cloud", origin: "https://{site}.atlassian.net",
    questions: [Question(name: "site", prompt: "Name of the Atlassian site, the first part of its host name", example: "my-company", pattern: Question.Pattern(rawValue: "host-label")!), Question(name: "email", prompt: "E-mail address of the Atlassian account", example: "alice@example.com", pattern: Question.Pattern(rawValue: "email")!)],
    scheme: .basic(user: "{email}"),
    key: "API token", keyPrefixes: ["ATATT"],
    create: "https://id.atlassian.com/manage-profile/security/api-tokens", scope: "Create an API token without scopes, because tokens with scopes work only at https://api.atlassian.com. The token can do everything that you can do.",
    variables: [],
    notes: "Pass {url}/wiki as the server to a client library, and any text as user and token. The rules allow Confluence and no other product of the site.",
    rules: [Rule(match: "/wiki/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/wiki/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/wiki/rest/api/user/current", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowAirtable = Preset(
    name: "airtable", title: "Airtable", origin: "https://api.airtable.com",
    questions: [],
    scheme: .bearer,
    key: "personal access token", keyPrefixes: ["pat"],
    create: "https://airtable.com/create/tokens", scope: "Create a token for the bases that programs need, with the scope data.records:read. Add data.records:write only if programs write.",
    variables: [Variable(name: "AIRTABLE_ENDPOINT_URL", value: "{url}", isKey: false), Variable(name: "AIRTABLE_API_KEY", value: "bearerd-adds-the-real-token", isKey: true)],
    notes: "The variables are for airtable.js. Pass endpoint_url=\"{url}\" to pyairtable.",
    rules: [],
    readOnlyRules: [Rule(match: "/v0/*/*/listRecords", methods: ["POST"], isDenied: false, reason: "reads records"), Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/v0/meta/whoami", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowCloudflare = Preset(
    name: "cloudflare", title: "Cloudflare", origin: "https://api.cloudflare.com",
    questions: [],
    scheme: .bearer,
    key: "API token", keyPrefixes: [],
    create: "https://dash.cloudflare.com/profile/api-tokens", scope: "Create a user token from a template, for the zones and accounts that programs need. Do not use the global API key.",
    variables: [Variable(name: "CLOUDFLARE_API_BASE_URL", value: "{url}/client/v4", isKey: false), Variable(name: "CLOUDFLARE_BASE_URL", value: "{url}/client/v4", isKey: false), Variable(name: "CLOUDFLARE_API_TOKEN", value: "bearerd-adds-the-real-token-000000000000", isKey: true)],
    notes: "CLOUDFLARE_API_BASE_URL is for wrangler, and CLOUDFLARE_BASE_URL is for the libraries. wrangler cannot upload static assets through bearerd, because wrangler sends a second token for these files. The trial request works only with user tokens. If you use an account token, bearerctl reports the token as rejected, even if the token is valid.",
    rules: [Rule(match: "/client/v4/user/tokens/verify", methods: ["GET"], isDenied: false, reason: "checks whether the token is valid"), Rule(match: "/client/v4/accounts/*/tokens/verify", methods: ["GET"], isDenied: false, reason: "checks whether the token is valid"), Rule(match: "/client/v4/user/tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/client/v4/accounts/*/tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/client/v4/accounts/*/access/service_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/client/v4/zones/*/access/service_tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/client/v4/accounts/*/cfd_tunnel/*/token", methods: [], isDenied: true, reason: "shows the token of a tunnel"), Rule(match: "/client/v4/accounts/*/r2/temp-access-credentials", methods: [], isDenied: true, reason: "creates keys"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/client/v4/accounts/*/cfd_tunnel/*/token", methods: [], isDenied: true, reason: "shows the token of a tunnel"), Rule(match: "/client/v4/graphql", methods: ["POST"], isDenied: false, reason: "analytics, which this GraphQL API can only read"), Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/client/v4/user/tokens/verify", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowDigitalocean = Preset(
    name: "digitalocean", title: "DigitalOcean", origin: "https://api.digitalocean.com",
    questions: [],
    scheme: .bearer,
    key: "personal access token", keyPrefixes: ["dop_v1_", "doo_v1_"],
    create: "https://cloud.digitalocean.com/account/api/tokens/new", scope: "Choose an expiration date and custom scopes: the scopes that programs need, and account:read for the trial request.",
    variables: [Variable(name: "DIGITALOCEAN_API_URL", value: "{url}/", isKey: false), Variable(name: "DIGITALOCEAN_ACCESS_TOKEN", value: "dop_v1_bearerd-adds-the-real-token", isKey: true)],
    notes: "The variables are for doctl and Terraform. Pass endpoint=\"{url}\" to pydo. This preset is not for Spaces (object storage), which has other origins and keys.",
    rules: [Rule(match: "/v2/spaces/keys**", methods: [], isDenied: true, reason: "creates keys for Spaces"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/v2/account", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowHetzner = Preset(
    name: "hetzner", title: "Hetzner Cloud", origin: "https://api.hetzner.cloud",
    questions: [],
    scheme: .bearer,
    key: "API token", keyPrefixes: [],
    create: "https://console.hetzner.com/projects", scope: "In the project, open \"Security\" and then \"API tokens\". Choose \"Read\" if programs only read.",
    variables: [Variable(name: "HCLOUD_ENDPOINT", value: "{url}/v1", isKey: false), Variable(name: "HCLOUD_TOKEN", value: "bearerdAddsTheRealToken00000000000000000000000000000000000000000", isKey: true)],
    notes: "The variables are for the hcloud command and Terraform. Pass api_endpoint=\"{url}/v1\" to hcloud-python.",
    rules: [],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/v1/locations", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowStripe = Preset(
    name: "stripe", title: "Stripe", origin: "https://api.stripe.com",
    questions: [],
    scheme: .bearer,
    key: "restricted API key", keyPrefixes: ["rk_", "sk_"],
    create: "https://dashboard.stripe.com/apikeys", scope: "Create a restricted key with the permissions that programs need, and with \"Balance: Read\" for the trial request.",
    variables: [],
    notes: "The libraries read no environment variable for the base URL. In Python, set stripe.api_base = \"{url}\" and stripe.api_key to any text. The base URL of the Node library cannot have a path. For Node, give the service its own port, for example at: localhost:7071, and pass host, port and protocol.",
    rules: [],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/v1/balance", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowSendgrid = Preset(
    name: "sendgrid", title: "SendGrid", origin: "https://api.sendgrid.com",
    questions: [],
    scheme: .bearer,
    key: "API key", keyPrefixes: ["SG."],
    create: "https://app.sendgrid.com/settings/api_keys", scope: "If programs only send mail, choose \"Restricted Access\" with \"Mail Send\".",
    variables: [],
    notes: "The libraries read no environment variable for the base URL. In Python, write SendGridAPIClient(\"SG.bearerd\", host=\"{url}\"). In Node, write client.setDefaultRequest(\"baseUrl\", \"{url}/\") and client.setApiKey(\"SG.bearerd\").",
    rules: [Rule(match: "/v3/api_keys**", methods: [], isDenied: true, reason: "creates keys"), Rule(match: "/v3/subusers**", methods: [], isDenied: true, reason: "creates accounts"), Rule(match: "/v3/teammates**", methods: [], isDenied: true, reason: "invites people"), Rule(match: "/v3/sso/**", methods: [], isDenied: true, reason: "changes the settings of single sign-on"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/v3/scopes", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowTwilio = Preset(
    name: "twilio", title: "Twilio", origin: "https://api.twilio.com",
    questions: [Question(name: "account", prompt: "Account SID", example: "AC0123456789abcdef0123456789abcdef", pattern: Question.Pattern(rawValue: "word")!)],
    scheme: .basic(user: "{account}"),
    key: "auth token", keyPrefixes: [],
    create: "https://console.twilio.com/", scope: "Use the auth token under \"Account Info\". An auth token can do everything in its account, so create a subaccount for programs.",
    variables: [],
    notes: "The libraries always call https://api.twilio.com. To use bearerd, give the library an HTTP client of your own that calls {url} instead, or use curl. Other products have other origins, such as https://verify.twilio.com.",
    rules: [Rule(match: "/2010-04-01/Accounts", methods: [], isDenied: true, reason: "the response contains the auth token"), Rule(match: "/2010-04-01/Accounts.*", methods: [], isDenied: true, reason: "the response contains the auth token"), Rule(match: "/2010-04-01/Accounts/*", methods: [], isDenied: true, reason: "the response contains the auth token"), Rule(match: "/2010-04-01/Accounts/*/", methods: [], isDenied: true, reason: "the response contains the auth token"), Rule(match: "/2010-04-01/Accounts/*/Keys**", methods: [], isDenied: true, reason: "creates keys"), Rule(match: "/2010-04-01/Accounts/*/SigningKeys**", methods: [], isDenied: true, reason: "creates keys"), Rule(match: "/2010-04-01/Accounts/*/Tokens**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/2010-04-01/Accounts", methods: [], isDenied: true, reason: "the response contains the auth token"), Rule(match: "/2010-04-01/Accounts.*", methods: [], isDenied: true, reason: "the response contains the auth token"), Rule(match: "/2010-04-01/Accounts/*", methods: [], isDenied: true, reason: "the response contains the auth token"), Rule(match: "/2010-04-01/Accounts/*/", methods: [], isDenied: true, reason: "the response contains the auth token"), Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/2010-04-01/Accounts/{account}/IncomingPhoneNumbers.json", headers: [], rejected: 401),
    hidesRejection: false, at: nil)

  private static let rowVault = Preset(
    name: "vault", title: "HashiCorp Vault", origin: "{origin}",
    questions: [Question(name: "origin", prompt: "Origin of the Vault server", example: "https://vault.example.com:8200", pattern: Question.Pattern(rawValue: "origin")!)],
    scheme: .header(name: "X-Vault-Token", prefix: ""),
    key: "token", keyPrefixes: [],
    create: "{origin}/ui/", scope: "Create a token with the policies that programs need: vault token create -policy=NAME -period=24h. To renew the token, run vault token renew directly at the server, not through bearerd.",
    variables: [Variable(name: "VAULT_ADDR", value: "{url}", isKey: false), Variable(name: "VAULT_TOKEN", value: "bearerd-adds-the-real-token", isKey: true)],
    notes: "The rules refuse requests whose response contains the token, so vault token lookup and vault token renew do not work through bearerd. In Terraform, set skip_child_token = true.",
    rules: [Rule(match: "/v1/auth/token/create**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/v1/auth/token/lookup**", methods: [], isDenied: true, reason: "the response contains the token"), Rule(match: "/v1/auth/token/renew**", methods: [], isDenied: true, reason: "the response contains the token"), Rule(match: "/v1/auth/token/roles/**", methods: [], isDenied: true, reason: "changes the settings of new tokens"), Rule(match: "/v1/auth/**/secret-id**", methods: [], isDenied: true, reason: "creates credentials"), Rule(match: "/v1/sys/wrapping/**", methods: [], isDenied: true, reason: "creates tokens"), Rule(match: "/**", methods: [], isDenied: false, reason: "")],
    readOnlyRules: [Rule(match: "/v1/auth/token/lookup**", methods: [], isDenied: true, reason: "the response contains the token"), Rule(match: "/**", methods: ["GET", "HEAD", "LIST"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: Trial(method: "GET", path: "/v1/sys/internal/ui/resultant-acl", headers: [], rejected: 403),
    hidesRejection: false, at: nil)

  private static let rowGenericBearer = Preset(
    name: "generic-bearer", title: "Any API with a bearer token", origin: "{origin}",
    questions: [Question(name: "origin", prompt: "Origin of the API", example: "https://api.example.com", pattern: Question.Pattern(rawValue: "origin")!)],
    scheme: .bearer,
    key: "token", keyPrefixes: [],
    create: "", scope: "Choose the smallest scope that programs need.",
    variables: [],
    notes: "The documentation of the API gives a base URL. In your program, replace its scheme and host with {url}, and keep its path.",
    rules: [],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: nil,
    hidesRejection: false, at: nil)

  private static let rowGenericBasic = Preset(
    name: "generic-basic", title: "Any API with a user name and a password", origin: "{origin}",
    questions: [Question(name: "origin", prompt: "Origin of the API", example: "https://api.example.com", pattern: Question.Pattern(rawValue: "origin")!), Question(name: "user", prompt: "User name", example: "alice", pattern: Question.Pattern(rawValue: "user")!)],
    scheme: .basic(user: "{user}"),
    key: "password", keyPrefixes: [],
    create: "", scope: "Choose the smallest scope that programs need.",
    variables: [],
    notes: "The documentation of the API gives a base URL. In your program, replace its scheme and host with {url}, and keep its path.",
    rules: [],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: nil,
    hidesRejection: false, at: nil)

  private static let rowGeneric = Preset(
    name: "generic", title: "Any API with a key in a header field", origin: "{origin}",
    questions: [Question(name: "origin", prompt: "Origin of the API", example: "https://api.example.com", pattern: Question.Pattern(rawValue: "origin")!), Question(name: "header", prompt: "Name of the header field for the key", example: "X-Api-Key", pattern: Question.Pattern(rawValue: "header")!)],
    scheme: .header(name: "{header}", prefix: ""),
    key: "API key", keyPrefixes: [],
    create: "", scope: "Choose the smallest scope that programs need.",
    variables: [],
    notes: "The documentation of the API gives a base URL. In your program, replace its scheme and host with {url}, and keep its path.",
    rules: [],
    readOnlyRules: [Rule(match: "/**", methods: ["GET", "HEAD"], isDenied: false, reason: "")],
    hasNoTimeLimit: false, trial: nil,
    hidesRejection: false, at: nil)
}
