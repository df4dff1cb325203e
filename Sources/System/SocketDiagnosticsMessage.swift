internal import CLinux
internal import Glibc

/// An address in the form in which the kernel looks it up: IPv4-mapped IPv6 is IPv4.
struct InternetAddress: Equatable {
  let isIPv4: Bool
  /// 4 or 16 bytes.
  let bytes: [UInt8]

  init?(_ ip: [UInt8]) {
    let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
    switch ip.count {
    case 4: (isIPv4, bytes) = (true, ip)
    case 16 where ip.starts(with: mappedPrefix): (isIPv4, bytes) = (true, Array(ip.suffix(4)))
    case 16: (isIPv4, bytes) = (false, ip)
    default: return nil
    }
  }
}

/// One TCP socket, by its two ends.
struct SocketPair: Equatable {
  let source: InternetAddress
  let sourcePort: UInt16
  let destination: InternetAddress
  let destinationPort: UInt16
}

/// A request for exactly one socket: no NLM_F_DUMP, no cookie (linux/inet_diag.h, sock_diag(7)).
struct Query {
  private var header = nlmsghdr()
  private var request = inet_diag_req_v2()

  init(_ pair: SocketPair, sequence: UInt32) {
    header.nlmsg_len = UInt32(MemoryLayout<Query>.size)
    header.nlmsg_type = UInt16(SOCK_DIAG_BY_FAMILY)
    header.nlmsg_flags = UInt16(NLM_F_REQUEST)
    header.nlmsg_seq = sequence
    request.sdiag_family = UInt8(pair.source.isIPv4 ? AF_INET : AF_INET6)
    request.sdiag_protocol = UInt8(IPPROTO_TCP)
    request.idiag_states = .max
    request.id.idiag_sport = pair.sourcePort.bigEndian
    request.id.idiag_dport = pair.destinationPort.bigEndian
    request.id.idiag_cookie = (.max, .max)
    withUnsafeMutableBytes(of: &request.id.idiag_src) { $0.copyBytes(from: pair.source.bytes) }
    withUnsafeMutableBytes(of: &request.id.idiag_dst) { $0.copyBytes(from: pair.destination.bytes) }
  }
}

struct NetlinkHeader {
  let type: UInt16
  let sequence: UInt32

  /// nil unless `message` is one whole netlink message and nothing else.
  init?(_ message: UnsafeRawBufferPointer) {
    guard message.count >= MemoryLayout<nlmsghdr>.size else { return nil }
    let header = message.loadUnaligned(as: nlmsghdr.self)
    guard Int(header.nlmsg_len) == message.count else { return nil }
    (type, sequence) = (header.nlmsg_type, header.nlmsg_seq)
  }
}

/// What the kernel knows about a socket.
struct Answer {
  let pair: SocketPair
  let state: UInt8
  let uid: UInt32
  let inode: UInt32

  /// nil for errors (NLMSG_ERROR: ENOENT if there is no such socket) and whatever else is not a socket.
  init?(_ message: UnsafeRawBufferPointer, _ header: NetlinkHeader) {
    let offset = MemoryLayout<nlmsghdr>.size
    guard header.type == UInt16(SOCK_DIAG_BY_FAMILY), message.count >= offset + MemoryLayout<inet_diag_msg>.size
    else { return nil }
    let found = message.loadUnaligned(fromByteOffset: offset, as: inet_diag_msg.self)
    let length: Int
    switch Int32(found.idiag_family) {
    case AF_INET: length = 4
    case AF_INET6: length = 16
    default: return nil
    }
    guard let source = InternetAddress(withUnsafeBytes(of: found.id.idiag_src) { Array($0.prefix(length)) }),
      let destination = InternetAddress(withUnsafeBytes(of: found.id.idiag_dst) { Array($0.prefix(length)) })
    else { return nil }
    pair = SocketPair(
      source: source, sourcePort: UInt16(bigEndian: found.id.idiag_sport),
      destination: destination, destinationPort: UInt16(bigEndian: found.id.idiag_dport))
    (state, uid, inode) = (found.idiag_state, found.idiag_uid, found.idiag_inode)
  }
}
