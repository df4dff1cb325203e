internal import Console
internal import Configuration
internal import Policy
internal import Primitives
internal import TLS

/// Certificates with their pins, and the line to copy.
struct PinReport {
  let terminal: Terminal
  /// Seconds since 1970.
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

  /// The line to put into the configuration, and what it means.
  func line(for certificates: [CertificateDescription]) -> String {
    guard
      let leaf = certificates.first(where: { $0.role == .leaf }) ?? (certificates.count == 1 ? certificates[0] : nil)
    else {
      return "None of these is a server's own certificate, so there is no line to copy.\n"
    }
    let issuer = certificates.first { $0.role != .leaf && $0.subject == leaf.issuer && $0.pin != leaf.pin }
    guard let issuer else {
      return """
        For the service (with one pin alone, nothing would get through after its next
        change of keys, so that two are required):

            pins: [\(leaf.pin), sha256/…]

        \(ownKey)
        """
    }
    return """
      For the service, the key in use and, as backup, the authority that issued it:

          pins: [\(leaf.pin), \(issuer.pin)]

      \(authorityAsBackup)

      \(ownKey)
      """
  }

  private var authorityAsBackup: String {
    wrapped(
      "This suits an upstream that is somebody else's: when its next certificate has a new key from the same authority, "
        + "requests still get through. But any certificate of this authority for the name passes, too, and as long as both "
        + "pins are in its chain, the log reminds you that neither is in reserve.")
  }

  private var ownKey: String {
    wrapped(
      "If the upstream is your own, take a backup key of your own as second pin instead: make it now, keep it offline, and "
        + "use it for the next certificate. Its pin is what these print:")
      + "\n\n    openssl ecparam -name prime256v1 -genkey -noout -out backup.key\n"
      + "    openssl pkey -in backup.key -pubout -outform DER \\\n"
      + "      | openssl dgst -sha256 -binary | base64\n"
  }

  private func expiry(_ time: Int64) -> String {
    guard time > 0 else { return "unknown" }
    let days = (time - now) / 86_400
    if time <= now { return "\(CivilTime.day(of: time)), which is over" }
    return "\(CivilTime.day(of: time)), in \(counted(Int(days), "day").replacingNo)"
  }
}

extension String {
  /// "no days" reads badly where a time is meant.
  fileprivate var replacingNo: String { hasPrefix("no ") ? "less than a day" : self }
}
