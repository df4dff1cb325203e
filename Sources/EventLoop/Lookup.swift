internal import CLibuv
internal import Glibc

/// One getaddrinfo call and everybody who waits for it. libuv holds it while the call is under way.
final class Lookup {
  let name: String
  private let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
  private var onFinish: ((Lookup) -> Void)?
  private var waiters: [(port: UInt16, completion: Resolver.Completion)] = []
  /// Set while a pool thread works on the call: nobody can stop it, so the loop it reports to must stay.
  private var loop: Loop?

  /// `onFinish` is called before the waiters are, so that their next question for the name is a new one.
  init(_ name: String, onFinish: @escaping (Lookup) -> Void) {
    self.name = name
    self.onFinish = onFinish
  }

  func join(_ port: UInt16, _ completion: @escaping Resolver.Completion) {
    waiters.append((port, completion))
  }

  func start(on loop: Loop) {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)  // else every address comes once per protocol
    hints.ai_flags = AI_ADDRCONFIG
    request.pointee.data = Unmanaged.passRetained(self).toOpaque()
    let status = uv_getaddrinfo(
      loop.raw, request,
      { request, status, list in
        defer { uv_freeaddrinfo(list) }
        guard let data = request?.pointee.data else { return }
        let lookup = Unmanaged<Lookup>.fromOpaque(data).takeRetainedValue()
        lookup.didReturn(status, list)
      }, name, nil, &hints)
    if status == 0 {
      self.loop = loop
    } else {  // no DNS name at all
      Unmanaged.passUnretained(self).release()
      loop.onNextTurn { self.finish(.failure(UVError(operation: "getaddrinfo", status: status))) }
    }
  }

  deinit { request.deallocate() }

  private func didReturn(_ status: CInt, _ list: UnsafePointer<addrinfo>?) {
    defer { loop = nil }
    let addresses = status == 0 ? addresses(in: list) : []
    if addresses.isEmpty {
      let reason = status == 0 ? UV_EAI_NODATA.rawValue : status
      finish(.failure(UVError(operation: "getaddrinfo", status: reason)))
    } else {
      finish(.success(addresses))
    }
  }

  private func addresses(in list: UnsafePointer<addrinfo>?) -> [SocketAddress] {
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      if let raw = entry.ai_addr, let address = SocketAddress(raw), !addresses.contains(address) {
        addresses.append(address)
      }
      next = UnsafePointer(entry.ai_next)
    }
    return addresses
  }

  private func finish(_ result: Result<[SocketAddress], UVError>) {
    onFinish?(self)
    onFinish = nil
    let waiters = waiters
    self.waiters = []
    for waiter in waiters {
      waiter.completion(result.map { $0.map { SocketAddress(ip: $0.ip, port: waiter.port) } })
    }
  }
}
