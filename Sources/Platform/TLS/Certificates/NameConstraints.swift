internal import COpenSSL
internal import Policy
import Primitives

/// Throws if one authority of the chain may not issue certificates for the host.
func checkNameConstraints(_ chain: [CertificateView], host: HostName) throws(TLSError) {
  for authority in chain.dropFirst() where !authority.mayIssue(for: host) {
    throw TLSError(
      kind: .certificateInvalid,
      detail: "\(authority.subject) is not allowed to issue certificates for \(host) (name constraints)")
  }
}

/// Compares the name constraints of authorities (RFC 5280 section 4.2.1.10) with the requested host (T65).
extension CertificateView {
  func mayIssue(for host: HostName) -> Bool {
    // OpenSSL compares constraints only with the names in the leaf. If an authority excludes `bar.example.com`, OpenSSL
    // still accepts its leaf for `*.example.com`.
    var status: Int32 = 0
    guard let decoded = X509_get_ext_d2i(pointer, NID_name_constraints, &status, nil) else {
      // -1: no constraints. Otherwise the extension is malformed, or there are two.
      return status == -1
    }
    let constraints = decoded.assumingMemoryBound(to: NAME_CONSTRAINTS.self)
    defer { NAME_CONSTRAINTS_free(constraints) }
    let excluded = Subtrees(stack: constraints.pointee.excludedSubtrees)
    if excluded.matches(host).contains(true) { return false }
    let permissions = Subtrees(stack: constraints.pointee.permittedSubtrees).matches(host)
    return permissions.isEmpty || permissions.contains(true)
  }
}

/// A borrowed list of name constraints.
private struct Subtrees {
  let stack: OpaquePointer?  // STACK_OF(GENERAL_SUBTREE)

  /// Returns, for each constraint of the host's kind (name or address), whether it covers the host.
  func matches(_ host: HostName) -> [Bool] {
    (0..<max(0, bearerd_sk_GENERAL_SUBTREE_num(stack))).compactMap { index in
      guard let base = bearerd_sk_GENERAL_SUBTREE_value(stack, index)?.pointee.base else { return nil }
      // A GENERAL_NAME is a union. Read only the member of its kind: an otherName, for example, is no ASN1_STRING.
      let kind = base.pointee.type
      switch host {
      case .name(let name):
        guard kind == GEN_DNS else { return nil }
        return covers(octets(of: base.pointee.d.dNSName), Array(name.utf8))
      case .address(let address):
        guard kind == GEN_IPADD else { return nil }
        return covers(octets(of: base.pointee.d.iPAddress), address: address.bytes)
      }
    }
  }

  private func octets(of text: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
    guard let text, let start = ASN1_STRING_get0_data(text) else { return [] }
    return Array(UnsafeBufferPointer(start: start, count: max(0, Int(ASN1_STRING_length(text)))))
  }

  private func covers(_ base: [UInt8], _ name: [UInt8]) -> Bool {
    // `base` itself and names below it, or with a leading dot only names below it.
    var base = base[...]
    if base.last == UInt8(ascii: ".") { base = base.dropLast() }
    if base.isEmpty { return true }
    let tail = name.suffix(base.count)
    guard tail.count == base.count, zip(tail, base).allSatisfy({ ASCII.lowercased($0) == ASCII.lowercased($1) }) else {
      return false
    }
    return tail.count == name.count || base.first == UInt8(ascii: ".")
      || name[name.count - base.count - 1] == UInt8(ascii: ".")
  }

  /// Whether the constraint `base`, which is an address and a mask of the same length, covers an address.
  private func covers(_ base: [UInt8], address: [UInt8]) -> Bool {
    // A `base` of an invalid length covers every address.
    guard base.count == 8 || base.count == 32 else { return true }
    let length = base.count / 2
    guard length == address.count else { return false }
    return (0..<length).allSatisfy { (base[$0] ^ address[$0]) & base[$0 + length] == 0 }
  }
}
