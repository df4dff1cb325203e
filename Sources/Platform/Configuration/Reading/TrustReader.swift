internal import Policy
internal import Settings

/// The keys for TLS trust, such as `ca_file`.
protocol TrustKey: PinKey {
  static var caFile: Self { get }
  static var revocation: Self { get }
  static var allowAddresses: Self { get }
}

extension ServiceKey: TrustKey { static let ifTrustFails = "requests to this service get 502" }
extension OAuth2Key: TrustKey { static let ifTrustFails = "bearerd requests no tokens" }
extension OAuth1Key: TrustKey { static let ifTrustFails = "every login fails" }
extension LoginKey: TrustKey { static let ifTrustFails = "bearerd does not log in" }
extension RegistryKey: TrustKey { static let ifTrustFails = "bearerd requests no tokens" }

/// Reads the keys for TLS trust, and the allowed addresses.
struct TrustReader<Key: TrustKey>: SectionReader {
  let context: ReadingContext
  let fields: Fields<Key>

  /// Reads the trust settings for a server. Without own pins, the server gets the pins that `pin_policies` has for
  /// `host`.
  func trust(for host: HostName?) -> TrustPolicy {
    var trust = TrustPolicy()
    trust.caFile = fields[.caFile].flatMap { certificateFile($0) }
    trust.revocation = section(
      .revocation, of: fields, having: "crl_file, stapling, or both",
      help: "write revocation: { crl_file: FILE } or revocation: { stapling: require }"
    ).flatMap { RevocationReader(context: context, fields: $0).policy(ifStale: Key.ifTrustFails) }
    trust.pinning = PinsReader(context: context, fields: fields).pinning()
    if !fields.has(.pins), case .pinned(let pinning, _)? = host.flatMap(context.pinPolicies.entry)?.entry {
      trust.pinning = pinning
    }
    return trust
  }

  func allowedAddresses() -> [AddressBlock] { addressBlocks(fields[.allowAddresses]) }
}

extension SectionReader {
  /// Reads and checks the path of a file with certificate authorities.
  func certificateFile(_ node: YAMLNode) -> String? {
    guard let path = path(node, "the path of a PEM file") else { return nil }
    FileChecks(context: context).checkCertificates(path, at: node.location)
    return path
  }

  /// Reads `allow_addresses`. Returns no networks without the key.
  func addressBlocks(_ node: YAMLNode?) -> [AddressBlock] {
    let nodes = node.flatMap { filledList($0, of: "address blocks like 10.0.0.0/8") } ?? []
    return nodes.compactMap { node in
      guard let text = text(node, "an address block like 10.0.0.0/8") else { return nil }
      if let block = AddressBlock(parsing: text) { return block }
      return report.error(
        node.location, "\(quoted(text)) is not an address block", help: "write it like 10.0.0.0/8 or fd00::/8")
    }
  }
}
