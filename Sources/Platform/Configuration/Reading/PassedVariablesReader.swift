import Primitives
internal import Settings

/// Reads `environment` of a command: the variables of bearerd that the program gets (T42).
struct PassedVariablesReader: SectionReader {
  let context: ReadingContext

  private static let maximumCount = 32

  /// Returns the names; empty without `environment`, and `nil` after an error.
  func names(_ source: Fields<SourceKey>) -> Set<String>? {
    guard source.has(.environment) else { return [] }
    guard
      let fields: Fields<EnvironmentKey> = section(
        .environment, of: source, having: "the names of variables", help: "write environment: { pass: [NAME] }"),
      let node = required(.pass, of: fields, "\"environment\" has no variables", help: "add pass: [NAME]"),
      let nodes = filledList(node, of: "names of environment variables")
    else { return nil }
    guard nodes.count <= Self.maximumCount else {
      return report.error(node.location, "there are \(nodes.count) variables: at most \(Self.maximumCount) are allowed")
    }
    let names = distinct(nodes) { name($0) }
    for (name, location) in names where !environment.isVariableSet(name) {
      report.warning(
        location, "the environment variable \(name) is not set here, and the program does not run without it",
        help: "set it for bearerd: Environment=\(name)=VALUE in the unit of the system service, or"
          + " \"systemctl --user import-environment \(name)\" for your own service")
    }
    return names.count == nodes.count ? Set(names.map(\.value)) : nil
  }

  private func name(_ node: YAMLNode) -> String? {
    guard let text = text(node, "the name of an environment variable") else { return nil }
    guard SourceName.isVariable(text) else {
      return report.error(
        node.location, "this is not the name of an environment variable: expected letters, digits and _",
        help: "write only the name. bearerd passes on the value that it has in its own environment")
    }
    if Self.ownNames.contains(text) {
      return report.error(
        node.location, "bearerd sets \(text) for programs itself, and does not pass on its own value",
        help: "delete the name. For another value, write command: [/usr/bin/env, \(text)=VALUE, /path/of/program]")
    }
    guard !Self.isDangerous(text) else {
      return report.error(
        node.location,
        "\(text) is not allowed here, because it can change the code that the program runs or the servers that it trusts",
        help: "delete the name")
    }
    return text
  }

  /// Names of variables that bearerd sets for programs.
  private static let ownNames: Set<String> = ["PATH", "HOME", "LANG", "KUBERNETES_EXEC_INFO"]

  /// Whether a variable changes which code a program runs, or its trust, or belongs to bearerd's own service.
  static func isDangerous(_ name: String) -> Bool {
    exact.contains(name) || prefixes.contains { name.hasPrefix($0) } || ASCII.lowercased(name).hasSuffix("_proxy")
  }

  private static let exact: Set<String> = [
    // The loader and the C library
    "GCONV_PATH", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "NLSPATH", "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    // Shells
    "BASH_ENV", "BASHOPTS", "CDPATH", "ENV", "IFS", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "ZDOTDIR",
    // Interpreters
    "CLASSPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "NODE_OPTIONS", "NODE_PATH", "PERL5DB",
    "PERL5LIB", "PERL5OPT", "PERLLIB", "RUBYLIB", "RUBYOPT",
    // TLS
    "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "REQUESTS_CA_BUNDLE", "SSLKEYLOGFILE",
    // Programs that other programs start
    "BROWSER", "EDITOR", "PAGER", "SSH_ASKPASS", "VISUAL",
    // bearerd's own service
    "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
  ]
  private static let prefixes = [
    "LD_", "MALLOC_", "PYTHON", "GIT_", "OPENSSL_", "SSL_CERT_", "CTLOG_FILE", "BASH_FUNC_", "LISTEN_",
  ]
}
