/// Names of fields and query parameters that bearerd removes, in lower case, each with the product or specification
/// that uses the name. A `*` at the end matches the rest of a name.
package enum CredentialFieldTable {
  package struct Row: Sendable {
    package let name: String
    package let source: String
  }

  /// All rows.
  package static let rows =
    credentials + identities + parameters + made(UnwantedField.allCases.map { ($0.name, $0.source) })

  // MARK: fields that carry a credential

  static let credentials = made([
    ("authorization", "RFC 9110, 11.6.2"),
    ("proxy-authorization", "RFC 9110, 11.7.2"),
    ("dpop", "RFC 9449"),
    ("cookie", "RFC 6265"),
    ("cookie2", "RFC 2965"),
    ("api-key", "Azure OpenAI, Discourse and others"),
    ("apikey", "Supabase, Kong and others"),
    ("x-api-key", "Anthropic, AWS API Gateway and many others"),
    ("x-apikey", "VirusTotal"),
    ("x-api-token", "general use"),
    ("xi-api-key", "ElevenLabs"),
    ("x-authorization", "general use"),
    ("x-auth-email", "Cloudflare"),
    ("x-auth-key", "Cloudflare"),
    ("x-auth-token", "OpenStack and others"),
    ("x-access-token", "GitHub, general use"),
    ("x-session-token", "general use"),
    ("x-token", "general use"),
    ("token", "general use"),
    ("access-token", "general use"),
    ("auth-token", "general use"),
    ("cf-access-*", "Cloudflare Access"),
    ("circle-token", "CircleCI"),
    ("dd-api-key", "Datadog"),
    ("dd-application-key", "Datadog"),
    ("deploy-token", "GitLab"),
    ("fastly-key", "Fastly"),
    ("job-token", "GitLab"),
    ("ocp-apim-subscription-key", "Azure API Management"),
    ("private-token", "GitLab"),
    ("x-algolia-api-key", "Algolia"),
    ("x-amz-security-token", "AWS"),
    ("x-cisco-meraki-api-key", "Cisco Meraki"),
    ("x-clickhouse-key", "ClickHouse"),
    ("x-consul-token", "Consul"),
    ("x-emby-token", "Emby, Jellyfin"),
    ("x-figma-token", "Figma"),
    ("x-functions-key", "Azure Functions"),
    ("x-gitlab-token", "GitLab"),
    ("x-goog-api-key", "Google Cloud"),
    ("x-goog-iam-authorization-token", "Google Cloud IAM"),
    ("x-hasura-admin-secret", "Hasura"),
    ("x-honeycomb-team", "Honeycomb"),
    ("x-jfrog-art-api", "Artifactory"),
    ("x-license-key", "New Relic"),
    ("x-mbx-apikey", "Binance"),
    ("x-ms-authorization-auxiliary", "Azure Resource Manager"),
    ("x-ms-copy-source-authorization", "Azure Storage"),
    ("x-nomad-token", "Nomad"),
    ("x-nuget-apikey", "NuGet"),
    ("x-octopus-apikey", "Octopus Deploy"),
    ("x-parse-master-key", "Parse"),
    ("x-plex-token", "Plex"),
    ("x-postmark-account-token", "Postmark"),
    ("x-postmark-server-token", "Postmark"),
    ("x-query-key", "New Relic Insights"),
    ("x-rapidapi-key", "RapidAPI"),
    ("x-redmine-api-key", "Redmine"),
    ("x-registry-auth", "Docker Engine"),
    ("x-sentry-auth", "Sentry"),
    ("x-service-token", "OpenStack Keystone"),
    ("x-shopify-access-token", "Shopify"),
    ("x-shopify-api-key", "Shopify"),
    ("x-shopify-storefront-access-token", "Shopify"),
    ("x-storage-token", "OpenStack Swift"),
    ("x-subject-token", "OpenStack Keystone"),
    ("x-subscription-token", "Brave Search"),
    ("x-trackertoken", "Pivotal Tracker"),
    ("x-typesense-api-key", "Typesense"),
    ("x-vault-token", "Vault"),
  ])

  // MARK: fields that choose another account, method or path, or claim to identify the caller

  static let identities = made([
    ("api-username", "Discourse"),
    ("as-user", "Box"),
    ("callerobjectid", "Microsoft Dataverse"),
    ("client-cert", "RFC 9440"),
    ("client-cert-chain", "RFC 9440"),
    ("dropbox-api-select-admin", "Dropbox"),
    ("dropbox-api-select-user", "Dropbox"),
    ("es-security-runas-user", "Elasticsearch"),
    ("forwarded", "RFC 7239"),
    ("impersonate-*", "Kubernetes"),
    ("mscrmcallerid", "Microsoft Dataverse"),
    ("on-behalf-of", "SendGrid"),
    ("opendistro_security_impersonate_as", "OpenSearch"),
    ("remote-email", "Authelia"),
    ("remote-groups", "Authelia"),
    ("remote-name", "Authelia"),
    ("remote-user", "Authelia, general use"),
    ("ssl-client-*", "nginx, Apache"),
    ("stripe-account", "Stripe Connect"),
    ("stripe-context", "Stripe"),
    ("sudo", "GitLab"),
    ("tailscale-user-*", "Tailscale Serve"),
    ("true-client-ip", "Akamai, Cloudflare"),
    ("x-amzn-oidc-*", "AWS load balancers"),
    ("x-auth-couchdb-*", "CouchDB"),
    ("x-auth-request-*", "oauth2-proxy"),
    ("x-authenticated-user", "general use"),
    ("x-authenticated-userid", "Kong"),
    ("x-authentik-*", "authentik"),
    ("x-clickhouse-user", "ClickHouse"),
    ("x-client-ip", "general use"),
    ("x-docusign-act-as-user", "DocuSign"),
    ("x-forwarded-*", "reverse proxies"),
    ("x-goog-authenticated-user-*", "Google Identity-Aware Proxy"),
    ("x-goog-iap-jwt-assertion", "Google Identity-Aware Proxy"),
    ("x-goog-user-project", "Google Cloud"),
    ("x-grafana-org-id", "Grafana"),
    ("x-http-method", "OData"),
    ("x-http-method-override", "Google APIs, Rack and others"),
    ("x-impersonate-*", "general use"),
    ("x-method-override", "general use"),
    ("x-ms-client-principal*", "Azure App Service"),
    ("x-original-host", "Azure Application Gateway"),
    ("x-original-method", "Traefik, nginx"),
    ("x-original-uri", "nginx"),
    ("x-original-url", "IIS, Symfony"),
    ("x-pomerium-jwt-assertion", "Pomerium"),
    ("x-presto-user", "Presto"),
    ("x-real-ip", "nginx"),
    ("x-redmine-switch-user", "Redmine"),
    ("x-remote-*", "Kubernetes"),
    ("x-rewrite-url", "IIS, Symfony"),
    ("x-scope-orgid", "Loki, Mimir, Tempo"),
    ("x-ssl-client-*", "nginx, HAProxy"),
    ("x-sudo", "general use"),
    ("x-trino-user", "Trino"),
    ("x-vault-namespace", "Vault"),
    ("x-webauth-*", "Grafana"),
  ])

  // MARK: query parameters of all three kinds

  /// Names of query parameters.
  static let parameters = made([
    ("access_key", "apilayer and others"),
    ("access_token", "RFC 6750, 2.3"),
    ("api_key", "general use"),
    ("api_token", "general use"),
    ("apikey", "general use"),
    ("auth_token", "general use"),
    ("client_secret", "RFC 6749, 2.3.1"),
    ("$key", "Google APIs"),
    ("job_token", "GitLab"),
    ("oauth_token", "RFC 5849, 3.5.3"),
    ("private_token", "GitLab"),
    ("subscription-key", "Azure API Management"),
    ("x-api-key", "general use"),
    ("as_user_id", "Canvas"),
    ("doas", "Hadoop"),
    ("sudo", "GitLab"),
    ("$userproject", "Google APIs"),
    ("userproject", "Google Cloud Storage"),
    ("_httpmethod", "Salesforce"),
    ("_method", "Rails, Laravel and others"),
    ("$httpheaders", "Google APIs"),
    ("$httpmethod", "Google APIs"),
    ("http-method", "general use"),
    ("http-method-override", "general use"),
    ("method-override", "general use"),
    ("x-http-method", "general use"),
    ("x-http-method-override", "general use"),
    ("x-method-override", "general use"),
  ])

  // MARK: entries of Sec-WebSocket-Protocol

  /// Prefixes of `Sec-WebSocket-Protocol` entries that carry a credential.
  static let subprotocols = made([
    (kubernetesSubprotocol, "Kubernetes"),
    ("header-", "AWS AppSync Events"),
    ("openai-insecure-api-key.", "OpenAI"),
    ("v1.token.websocket.jupyter.org.", "Jupyter Server"),
  ])

  /// Prefix of a `Sec-WebSocket-Protocol` entry with a bearer token in base64url.
  static let kubernetesSubprotocol = "base64url.bearer.authorization.k8s.io."

  private static func made(_ rows: [(name: String, source: String)]) -> [Row] {
    rows.map { Row(name: $0.name, source: $0.source) }
  }
}
