import Policy
import TLS

/// The text of a pin; and the same bytes as a file of certificates, PEM or DER.
func fuzzPin(_ bytes: [UInt8]) {
  checkPin(String(decoding: bytes, as: UTF8.self))
  checkCertificates(bytes)
}

private func checkPin(_ text: String) {
  do throws(OriginError) {
    let pin = try Pin(parsing: text)
    promise(pin.digest.count == 32 && pin.digest.contains { $0 != 0 }, "a pin that no key has")
    let written = pin.description
    promise(written.utf8.count == 51 && written.hasPrefix("sha256/"), "a pin is written as \(written)")
    promise((try? Pin(parsing: written)) == pin, "\(written) is read as another pin")
    promise(text.hasSuffix(written.dropFirst(7)), "\(text.debugDescription) is no spelling of \(written)")
  } catch {
    let message = error.message
    promise(message.utf8.count < 1000 && !message.utf8.contains { $0 < 0x20 || $0 == 0x7F }, message.debugDescription)
    // What a message tells to write is right.
    guard message.hasPrefix("a pin is written in"), let colon = message.firstIndex(where: { $0 == ":" }) else { return }
    let pin = message[colon...].dropFirst(": wanted ".count).prefix { $0 != "," }
    promise((try? Pin(parsing: String(pin))) != nil, "the advice is wrong: \(message)")
  }
}

private func checkCertificates(_ bytes: [UInt8]) {
  var described: [CertificateDescription]?
  do throws(TLSError) {
    described = try Certificates.describe(file: bytes)
  } catch {
    promise(isPlain(error.detail), "an error that a terminal obeys: \(error.detail.debugDescription)")
  }
  do throws(TLSError) {
    _ = try TrustStore(pem: bytes, name: "file")
    promise(described != nil, "certificates to trust, which cannot be described")
  } catch {
    promise(described == nil, "certificates that are described, but cannot be trusted: \(error)")
  }
  for certificate in described ?? [] {
    promise(certificate.pin.digest.count == 32, "a pin of \(certificate.pin.digest.count) bytes")
    for text in [certificate.subject, certificate.issuer, certificate.key] {
      promise(isPlain(text) && text.utf8.count <= 303, "a name that a terminal obeys: \(text.debugDescription)")
    }
  }
}

private func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
