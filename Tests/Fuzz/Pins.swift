import Policy
import TLS

/// Reads the input as a pin, as revocation lists, as a file of certificates (PEM or DER) whose name constraints are
/// checked for hosts, and as another file with public keys.
func fuzzPin(_ bytes: [UInt8]) {
  checkPin(String(decoding: bytes, as: UTF8.self))
  checkCertificates(bytes)
  checkLists(bytes)
  checkPinnable(bytes)
}

private func checkLists(_ bytes: [UInt8]) {
  do throws(TLSError) {
    let lists = try RevocationLists(bytes, name: "file").descriptions
    promise(!lists.isEmpty && lists.count <= RevocationLists.maximumCount, "\(lists.count) revocation lists")
    promise(lists.allSatisfy { isPlain($0.issuer) }, "an issuer that a terminal obeys")
  } catch {
    promise(isPlain(error.detail), "an error that a terminal obeys: \(error.detail.debugDescription)")
  }
}

private func checkPin(_ text: String) {
  do throws(PolicySyntaxError) {
    let pin = try Pin(parsing: text)
    promise(pin.digest.count == 32 && pin.digest.contains { $0 != 0 }, "a pin that no key has")
    let written = pin.description
    promise(written.utf8.count == 51 && written.hasPrefix("sha256/"), "a pin is written as \(written)")
    promise((try? Pin(parsing: written)) == pin, "\(written) is read as another pin")
    promise(!text.ranges(of: written.dropFirst(7)).isEmpty, "\(text.debugDescription) is no spelling of \(written)")
  } catch {
    let message = error.message
    promise(message.utf8.count < 1000 && !message.utf8.contains { $0 < 0x20 || $0 == 0x7F }, message.debugDescription)
    // The pin that a message suggests is valid.
    guard let start = message.ranges(of: ": expected ").last?.upperBound else { return }
    let pin = message[start...]
    guard pin.hasPrefix("sha256/"), !pin.contains(" ") else { return }
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
  if described != nil { checkConstraints(bytes) }
  for certificate in described ?? [] {
    promise(certificate.pin.digest.count == 32, "a pin of \(certificate.pin.digest.count) bytes")
    for text in [certificate.subject, certificate.issuer, certificate.key] {
      promise(isPlain(text) && text.utf8.count <= 303, "a name that a terminal obeys: \(text.debugDescription)")
    }
  }
}

private func checkPinnable(_ bytes: [UInt8]) {
  do throws(TLSError) {
    switch try PinnableFile(bytes, name: "file") {
    case .certificates(let certificates):
      promise((try? Certificates.describe(file: bytes)) == certificates, "two descriptions of certificates")
    case .publicKey(let key): promise(isPlain(key.key), "a key that a terminal obeys: \(key.key.debugDescription)")
    case .request(let subject, let key):
      promise(isPlain(subject + key.key), "a request that a terminal obeys: \(subject.debugDescription)")
    case .privateKey: break
    }
  } catch {
    promise(isPlain(error.detail), "an error that a terminal obeys: \(error.detail.debugDescription)")
  }
}

private let hosts = ["a.test", "127.0.0.1", "[::1]"].compactMap { try? HostName(parsing: $0) }

private func checkConstraints(_ bytes: [UInt8]) {
  for host in hosts {
    let verdicts = try? Certificates.mayIssue(file: bytes, for: host)
    promise(verdicts != nil, "certificates that are described, but not asked about \(host)")
    // A result that depends on memory behind a name would differ between calls.
    promise((try? Certificates.mayIssue(file: bytes, for: host)) == verdicts, "two verdicts about \(host)")
    // DER contains the extension's object identifier unencoded.
    guard bytes.count > 1, bytes[0] == 0x30, bytes[1] >= 0x80, !containsConstraints(bytes) else { continue }
    promise(verdicts == [true], "a certificate without constraints may not vouch for \(host)")
  }
}

/// Whether the bytes contain the object identifier of name constraints, 2.5.29.30.
private func containsConstraints(_ bytes: [UInt8]) -> Bool {
  bytes.indices.dropLast(2).contains { bytes[$0...].starts(with: [0x55, 0x1D, 0x1E]) }
}

private func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
