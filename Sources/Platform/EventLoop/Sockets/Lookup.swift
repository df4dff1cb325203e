internal import CLibuv
internal import Glibc

// Does not use libuv's thread pool, because a few hanging lookups would block all of its threads and the exit of the
// process.
/// A `getaddrinfo` call in progress: its thread, and the requests that wait for its result.
final class Lookup {
  let name: String
  let isSlow: Bool
  /// Whether there was a previous lookup of the name, which was fast.
  let isKnownFast: Bool
  /// Start time, in milliseconds of the loop's clock.
  private(set) var startedAt: UInt64 = 0
  private var onFinish: ((Lookup) -> Void)?
  private var waiters: [(port: UInt16, completion: Resolver.Completion)] = []
  private var call: Call?
  /// Retained while the thread runs.
  private var loop: Loop?

  /// - Parameter onFinish: called before the completions, so that these can start a new lookup of the name.
  init(_ name: String, isSlow: Bool, isKnownFast: Bool, onFinish: @escaping (Lookup) -> Void) {
    self.name = name
    self.isSlow = isSlow
    self.isKnownFast = isKnownFast
    self.onFinish = onFinish
  }

  func join(_ port: UInt16, _ completion: @escaping Resolver.Completion) {
    waiters.append((port, completion))
  }

  func start(on loop: Loop) {
    startedAt = loop.now
    do throws(UVError) {
      call = try Call(name, on: loop, for: self)
      self.loop = loop
    } catch {
      loop.onNextTurn { self.finish(.failure(error)) }
    }
  }

  fileprivate func didReturn() {
    defer { loop = nil }
    guard let call else { return }
    self.call = nil
    finish(call.join())
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

// Other threads may access `shared` only after this thread has ended.
/// The thread that calls getaddrinfo, with its memory.
private struct Call {
  private struct Shared {
    let name: UnsafeMutablePointer<CChar>
    let wakeup: UnsafeMutablePointer<uv_async_t>
    var status: CInt = 0
    /// The errno of getaddrinfo if `status` is EAI_SYSTEM.
    var reason: CInt = 0
    var list: UnsafeMutablePointer<addrinfo>?
  }

  private let shared: UnsafeMutablePointer<Shared>
  private let wakeup = HandleMemory<uv_async_t>()
  private var thread = uv_thread_t()

  init(_ name: String, on loop: Loop, for lookup: Lookup) throws(UVError) {
    let status = uv_async_init(loop.raw, wakeup.raw) { handle in
      withOwner(handle?.pointee.data, as: Lookup.self) { $0.didReturn() }
    }
    try wakeup.check(status, "uv_async_init")
    wakeup.retain(lookup)
    shared = .allocate(capacity: 1)
    shared.initialize(to: Shared(name: name.withCString { strdup($0) }, wakeup: wakeup.raw))
    var options = uv_thread_options_t(flags: UV_THREAD_HAS_STACK_SIZE.rawValue, stack_size: stackSize)
    let made = uv_thread_create_ex(
      &thread, &options,
      { argument in
        guard let shared = argument?.assumingMemoryBound(to: Shared.self) else { return }
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)  // otherwise each address appears once per protocol
        hints.ai_flags = AI_ADDRCONFIG
        shared.pointee.status = getaddrinfo(shared.pointee.name, nil, &hints, &shared.pointee.list)
        shared.pointee.reason = errno
        uv_async_send(shared.pointee.wakeup)
      }, shared)
    guard made == 0 else {
      release()
      throw UVError(operation: "uv_thread_create", status: made)
    }
  }

  /// Joins the lookup's thread, which has finished the call, and returns the addresses.
  func join() -> Result<[SocketAddress], UVError> {
    var thread = thread
    uv_thread_join(&thread)
    defer { release() }
    let addresses = shared.pointee.status == 0 ? addresses(in: shared.pointee.list) : []
    if !addresses.isEmpty { return .success(addresses) }
    let status = uvStatus(shared.pointee.status, shared.pointee.reason)
    return .failure(UVError(operation: "getaddrinfo", status: status))
  }

  private func release() {
    if let list = shared.pointee.list { freeaddrinfo(list) }
    free(shared.pointee.name)
    shared.deallocate()
    wakeup.close()
  }

  private func addresses(in list: UnsafeMutablePointer<addrinfo>?) -> [SocketAddress] {
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      if let raw = entry.ai_addr, let address = SocketAddress(raw), !addresses.contains(address) {
        addresses.append(address)
      }
      next = entry.ai_next
    }
    return addresses
  }
}

/// Converts a result of getaddrinfo without addresses to a libuv error.
private func uvStatus(_ status: CInt, _ reason: CInt) -> CInt {
  // The result 0 (success) becomes an error too.
  switch status {
  case 0, -5: UV_EAI_NODATA.rawValue
  case -2: UV_EAI_NONAME.rawValue
  case -3: UV_EAI_AGAIN.rawValue
  case -4: UV_EAI_FAIL.rawValue
  case -9: UV_EAI_ADDRFAMILY.rawValue
  case -10: UV_EAI_MEMORY.rawValue
  case -11: reason > 0 ? -reason : UV_EAI_FAIL.rawValue
  default: UV_EAI_FAIL.rawValue
  }
}

// NSS modules need more stack than glibc itself.
/// Stack size of a lookup thread in bytes.
private let stackSize = 1 << 20
