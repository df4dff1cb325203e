/// Finds what a diagnostic must not show: a secret that somebody wrote into the file, in whatever wrong place.
/// Everything is hidden that does not stand under a key whose values are known to be harmless.
enum SecretMask {
  static func stretches(in root: YAMLNode) -> [Hidden] {
    var hidden: [Hidden] = []
    guard case .mapping(let entries) = root.content else {
      hide(root, &hidden)
      return hidden
    }
    for entry in entries {
      switch TopKey(rawValue: entry.name) {
      case .listeners, .credentials, .services:
        named(entry.value, &hidden)
      case .limits, .timeouts, .requireLockedMemory, .control:
        visit(entry.value, under: entry.name, &hidden)
      case nil:
        hide(entry.value, &hidden)
      }
    }
    return hidden
  }

  /// The keys below `credentials` and the like are names of the user's own.
  private static func named(_ node: YAMLNode, _ hidden: inout [Hidden]) {
    guard case .mapping(let entries) = node.content else { return hide(node, &hidden) }
    for entry in entries { visit(entry.value, under: nil, &hidden) }
  }

  private static func visit(_ node: YAMLNode, under key: String?, _ hidden: inout [Hidden]) {
    switch node.content {
    case .scalar(let text, _):
      if isSecret(text, under: key) { hidden.append(node.stretch) }
    case .sequence(let nodes):
      for node in nodes { visit(node, under: key, &hidden) }
    case .mapping(let entries):
      for entry in entries {
        if entry.key.text == nil { hide(entry.key, &hidden) }
        if SchemaWords.all.contains(entry.name), key != ServiceKey.setHeaders.rawValue {
          visit(entry.value, under: entry.name, &hidden)
        } else {
          hide(entry.value, &hidden)
          // `bearer: { s3cret }` is a mapping whose key is the secret.
          if takesSource(key) { hidden.append(entry.key.stretch) }
        }
      }
    case .refused: break
    }
  }

  private static func isSecret(_ text: String, under key: String?) -> Bool {
    switch key {
    case nil: true
    case let key where takesSource(key): true
    case HeaderKey.prefix.rawValue: true
    // A user name with its password.
    case BasicKey.user.rawValue: text.utf8.contains(UInt8(ascii: ":"))
    case SourceKey.systemd.rawValue: !SourceName.isCredential(text)
    case SourceKey.env.rawValue: !SourceName.isVariable(text)
    // `https://user:password@host/?api_key=…`
    case ServiceKey.upstream.rawValue, CredentialKey.origins.rawValue: hasPrivatePart(text)
    default: text.contains("://") && hasPrivatePart(text)
    }
  }

  private static func hasPrivatePart(_ url: String) -> Bool {
    url.utf8.contains { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
  }

  private static func takesSource(_ key: String?) -> Bool {
    switch key {
    case CredentialKey.bearer.rawValue, CredentialKey.basic.rawValue, CredentialKey.headers.rawValue,
      BasicKey.password.rawValue, HeaderKey.value.rawValue:
      true
    default: false
    }
  }

  private static func hide(_ node: YAMLNode, _ hidden: inout [Hidden]) {
    switch node.content {
    case .scalar: hidden.append(node.stretch)
    case .sequence(let nodes): for node in nodes { hide(node, &hidden) }
    case .mapping(let entries): 
      for entry in entries {
        hide(entry.key, &hidden)
        hide(entry.value, &hidden)
      }
    case .refused: break
    }
  }
}
