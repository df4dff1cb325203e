internal import CLinux
internal import Glibc

/// An IP address in the form that the kernel's socket lookup uses.
struct InternetAddress: Equatable {
  /// The address in network order. For IPv4, only the first word is used.
  typealias Words = (UInt32, UInt32, UInt32, UInt32)

  let isIPv4: Bool
  let words: Words

  /// - Parameter ip: 4 or 16 bytes.
  init?(_ ip: [UInt8]) {
    guard ip.count == 4 || ip.count == 16 else { return nil }
    var words: Words = (0, 0, 0, 0)
    withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: ip) }
    self.init(isIPv4: ip.count == 4, words)
  }

  init(isIPv4: Bool, _ words: Words) {
    let isMapped = !isIPv4 && words.0 == 0 && words.1 == 0 && words.2 == UInt32(0xFFFF).bigEndian
    self.isIPv4 = isIPv4 || isMapped
    self.words = isIPv4 ? (words.0, 0, 0, 0) : isMapped ? (words.3, 0, 0, 0) : words
  }

  static func == (one: InternetAddress, other: InternetAddress) -> Bool {
    one.isIPv4 == other.isIPv4 && one.words == other.words
  }
}

struct SocketPair: Equatable {
  let source: InternetAddress
  let sourcePort: UInt16
  let destination: InternetAddress
  let destinationPort: UInt16
}

/// A netlink request for exactly one socket (linux/inet_diag.h, sock_diag(7)).
struct SocketDiagnosticsRequest {
  private var header = nlmsghdr()
  private var request = inet_diag_req_v2()

  init(_ pair: SocketPair, sequence: UInt32) {
    header.nlmsg_len = UInt32(MemoryLayout<SocketDiagnosticsRequest>.size)
    header.nlmsg_type = UInt16(SOCK_DIAG_BY_FAMILY)
    header.nlmsg_flags = UInt16(NLM_F_REQUEST)
    header.nlmsg_seq = sequence
    request.sdiag_family = UInt8(pair.source.isIPv4 ? AF_INET : AF_INET6)
    request.sdiag_protocol = UInt8(IPPROTO_TCP)
    request.idiag_states = .max
    request.id.idiag_sport = pair.sourcePort.bigEndian
    request.id.idiag_dport = pair.destinationPort.bigEndian
    request.id.idiag_cookie = (.max, .max)
    request.id.idiag_src = pair.source.words
    request.id.idiag_dst = pair.destination.words
  }
}

struct NetlinkHeader {
  let type: UInt16
  let sequence: UInt32

  /// `nil` unless `message` is exactly one complete netlink message.
  init?(_ message: UnsafeRawBufferPointer) {
    guard message.count >= MemoryLayout<nlmsghdr>.size else { return nil }
    let header = message.loadUnaligned(as: nlmsghdr.self)
    guard Int(header.nlmsg_len) == message.count else { return nil }
    (type, sequence) = (header.nlmsg_type, header.nlmsg_seq)
  }
}

struct SocketDiagnosticsResponse {
  let pair: SocketPair
  let state: UInt8
  let uid: UInt32
  let inode: UInt32
  let controlGroup: UInt64?

  /// Parses the kernel's response. `nil` for errors and other messages.
  init?(_ message: UnsafeRawBufferPointer, _ header: NetlinkHeader) {
    let offset = MemoryLayout<nlmsghdr>.size
    guard header.type == UInt16(SOCK_DIAG_BY_FAMILY), message.count >= offset + MemoryLayout<inet_diag_msg>.size
    else { return nil }
    let found = message.loadUnaligned(fromByteOffset: offset, as: inet_diag_msg.self)
    let family = Int32(found.idiag_family)
    guard family == AF_INET || family == AF_INET6 else { return nil }
    pair = SocketPair(
      source: InternetAddress(isIPv4: family == AF_INET, found.id.idiag_src),
      sourcePort: UInt16(bigEndian: found.id.idiag_sport),
      destination: InternetAddress(isIPv4: family == AF_INET, found.id.idiag_dst),
      destinationPort: UInt16(bigEndian: found.id.idiag_dport))
    (state, uid, inode) = (found.idiag_state, found.idiag_uid, found.idiag_inode)
    let attributes = message[(offset + MemoryLayout<inet_diag_msg>.size)...]
    controlGroup = SocketDiagnosticsResponse.controlGroup(UnsafeRawBufferPointer(rebasing: attributes))
  }

  /// Returns the value of the attribute INET_DIAG_CGROUP_ID. `nil` if it is missing.
  private static func controlGroup(_ attributes: UnsafeRawBufferPointer) -> UInt64? {
    let header = MemoryLayout<nlattr>.size
    var start = 0
    while start + header <= attributes.count {
      let attribute = attributes.loadUnaligned(fromByteOffset: start, as: nlattr.self)
      let length = Int(attribute.nla_len)
      guard length >= header, start + length <= attributes.count else { return nil }
      if Int(attribute.nla_type) == Int(INET_DIAG_CGROUP_ID), length == header + MemoryLayout<UInt64>.size {
        return attributes.loadUnaligned(fromByteOffset: start + header, as: UInt64.self)
      }
      start += (length + 3) & ~3
    }
    return nil
  }
}
