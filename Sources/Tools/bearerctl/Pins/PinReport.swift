internal import Console
internal import Policy
internal import Primitives
internal import TLS

/// The output of `bearerctl pin`: certificates with their pins, and the `pins:` line to copy.
struct PinReport {
  let terminal: Terminal
  /// The current time, in seconds since 1970.
  let now: Int64

  func list(_ certificates: [CertificateDescription]) -> String {
    certificates.enumerated().map { index, certificate in
      let indentation = "   " + String(repeating: " ", count: "\(index + 1)".count)
      let rows = [
        ("key", certificate.key), ("expires", expiry(certificate.notAfter)),
        ("pin", terminal.bold(certificate.pin.description)),
      ]
      return "\(index + 1)  \(certificate.role.rawValue.padded(to: 12))  \(certificate.subject)\n"
        + rows.map { "\(indentation)\(terminal.dim($0.padded(to: 12))) \($1)\n" }.joined() + "\n"
    }.joined()
  }

  /// Returns the `pins:` line for the configuration, with an explanation.
  func line(for certificates: [CertificateDescription]) -> String {
    guard
      let leaf = certificates.first(where: { $0.role == .leaf }) ?? (certificates.count == 1 ? certificates[0] : nil)
    else {
      return "None of these is the certificate of a server, so there is no line to copy.\n"
    }
    let issuer = certificates.first { $0.role != .leaf && $0.subject == leaf.issuer && $0.pin != leaf.pin }
    guard let issuer else {
      return """
        A line for the service, with the pin of the current key. Add the pin of a backup
        key: with only one pin, all requests would fail when the server changes its key.

            pins: [\(leaf.pin), sha256/…]

        \(ownKey)
        """
    }
    return """
      Add this line to the service. The first pin is for the current key. The second pin is
      the backup, for the key of the authority that issued the certificate:

          pins: [\(leaf.pin), \(issuer.pin)]

      \(authorityAsBackup)

      \(ownKey)
      """
  }

  /// Returns the rows of a single key, and the `pins:` line for it.
  /// - Parameter subject: The subject of a certificate request; `nil` for other files.
  func key(_ key: PublicKeyDescription, subject: String? = nil) -> String {
    let rows =
      (subject.map { [("subject", $0)] } ?? []) + [("key", key.key), ("pin", terminal.bold(key.pin.description))]
    return rows.map { "   \(terminal.dim($0.padded(to: 12))) \($1)\n" }.joined() + """

      Add this pin to the service. The first pin is for the key in use. If the server does not
      use this key yet, it is the backup:

          pins: [sha256/…, \(key.pin)]

      """
  }

  /// Returns the certificates of a server that could not be verified, without pins. Empty if there are none.
  static func unverified(_ served: [CertificateDescription]) -> String {
    guard !served.isEmpty else { return "" }
    let certificates = served.enumerated().map { index, certificate in
      let begin = certificate.notBefore.map { CivilTime.time(of: $0) } ?? "unknown"
      let end = certificate.notAfter > 0 ? CivilTime.time(of: certificate.notAfter) : "unknown"
      let rows = [
        ("subject", certificate.subject), ("issuer", certificate.issuer), ("valid", "from \(begin) to \(end)"),
        ("key", certificate.key),
      ]
      return rows.enumerated().map { row, pair in
        (row == 0 ? "\(index + 1)".padded(to: 4) : "    ") + "\(pair.0.padded(to: 12)) \(pair.1)"
      }.joined(separator: "\n")
    }
    return "\n\nThe server sent these certificates. They are not verified, and can be those of an attacker:\n\n"
      + certificates.joined(separator: "\n\n")
  }

  private var authorityAsBackup: String {
    wrapped(
      "Use this line if you do not run the upstream. When the upstream gets a new key from the same authority, requests "
        + "still succeed. But bearerd then accepts any certificate of this authority for the name. As long as both pins are "
        + "in the chain, the log reminds you that you have no backup pin.")
  }

  private var ownKey: String {
    wrapped(
      "If you run the upstream, use a backup key as the second pin instead. Create the key now, keep it offline, and use it "
        + "for the next certificate. This command creates a key and prints its pin:")
      + "\n\n    bearerctl pin new-backup backup.key\n"
  }

  private func expiry(_ time: Int64) -> String {
    guard time > 0 else { return "unknown" }
    let days = (time - now) / 86_400
    if time <= now { return "\(CivilTime.day(of: time)), expired" }
    return "\(CivilTime.day(of: time)), in \(days == 0 ? "less than a day" : counted(days, "day"))"
  }
}
