internal import COpenSSL
internal import Policy
import Primitives

/// The names that an authority may speak for (RFC 5280 section 4.2.1.10), compared with the name that we ask for.
///
/// OpenSSL compares the names in the leaf: a leaf for `*.example.com` passes an authority that is barred from `bar.example.com`,
/// and then serves as that very name (T65).
extension CertificateView {
  /// False where the constraints exclude the host, permit others alone, or cannot be read.
  func mayVouch(for host: HostName) -> Bool {
    var status: Int32 = 0
    guard let decoded = X509_get_ext_d2i(pointer, NID_name_constraints, &status, nil) else {
      // -1: there are none. Anything else is an extension that stands twice, or is malformed.
      return status == -1
    }
    let constraints = decoded.assumingMemoryBound(to: NAME_CONSTRAINTS.self)
    defer { NAME_CONSTRAINTS_free(constraints) }
    let excluded = Subtrees(constraints.pointee.excludedSubtrees)
    let permitted = Subtrees(constraints.pointee.permittedSubtrees)
    if excluded.matches(host).contains(true) { return false }
    let permissions = permitted.matches(host)
    return permissions.isEmpty || permissions.contains(true)
  }
}

/// Borrowed from the constraints that own it.
private struct Subtrees {
  private let stack: OpaquePointer?  // STACK_OF(GENERAL_SUBTREE)

  init(_ stack: OpaquePointer?) { self.stack = stack }

  /// Returns for each subtree of the host's kind whether it covers the host.
  func matches(_ host: HostName) -> [Bool] {
    (0..<max(0, bearerd_sk_GENERAL_SUBTREE_num(stack))).compactMap { index in
      guard let base = bearerd_sk_GENERAL_SUBTREE_value(stack, index)?.pointee.base else { return nil }
      // A GENERAL_NAME is a union. Only the member of its kind may be read: an otherName's, for example, is no ASN1_STRING.
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

  /// A name, and all below it; with a dot ahead, those below it alone. Case and a dot at the end do not count.
  private func covers(_ base: [UInt8], _ name: [UInt8]) -> Bool {
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

  /// An address and a mask of the same length. What is neither of four and four bytes nor of sixteen and sixteen covers all.
  private func covers(_ base: [UInt8], address: [UInt8]) -> Bool {
    guard base.count == 8 || base.count == 32 else { return true }
    let length = base.count / 2
    guard length == address.count else { return false }
    return (0..<length).allSatisfy { (base[$0] ^ address[$0]) & base[$0 + length] == 0 }
  }
}
