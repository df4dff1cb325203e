internal import CLibuv

// "The handle's memory can only be reclaimed … from inside the `uv_close_cb`" (libuv, docs/src/design.rst). So neither
// ARC nor a `deinit` can own the memory. An owner that is never closed leaks, and the loop's `deinit` detects it.
/// The memory of one libuv handle, which retains its Swift owner until the handle is closed.
struct HandleMemory<Raw> {
  let raw: UnsafeMutablePointer<Raw>

  /// - Parameter byteCount: size of the handle's type, which may be larger than `Raw`.
  init(byteCount: Int = MemoryLayout<Raw>.size) {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    raw = memory.assumingMemoryBound(to: Raw.self)
  }

  /// Frees the handle and throws if its `uv_…_init` has failed with `status`.
  func check(_ status: CInt, _ operation: StaticString) throws(UVError) {
    guard status != 0 else { return }
    discard()
    throw UVError(operation: "\(operation)", status: status)
  }

  /// Keeps `owner` alive until the handle is closed.
  func retain(_ owner: AnyObject) {
    // Call this after `uv_…_init` has succeeded.
    base.pointee.data = Unmanaged.passRetained(owner).toOpaque()
  }

  /// Sets an owner without retaining it; close such a handle with `closeUnretained`.
  func setUnretainedOwner(_ owner: AnyObject) {
    base.pointee.data = Unmanaged.passUnretained(owner).toOpaque()
  }

  /// Closes the handle, whose memory is freed on a later turn of the loop.
  func close() {
    // Call this only once.
    uv_close(base) { releaseOwnerAndDeallocate($0) }
  }

  /// Closes a TCP handle (`uv_tcp_t`) with a reset instead of a FIN.
  func closeWithReset() {
    let tcp = UnsafeMutableRawPointer(raw).assumingMemoryBound(to: uv_tcp_t.self)
    if uv_tcp_close_reset(tcp, { releaseOwnerAndDeallocate($0) }) != 0 { close() }
  }

  func closeUnretained() {
    uv_close(base) { UnsafeMutableRawPointer($0)?.deallocate() }
  }

  /// Frees a handle whose `uv_…_init` failed.
  func discard() {
    UnsafeMutableRawPointer(raw).deallocate()
  }

  var base: UnsafeMutablePointer<uv_handle_t> {
    UnsafeMutableRawPointer(raw).assumingMemoryBound(to: uv_handle_t.self)
  }
}

private func releaseOwnerAndDeallocate(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
  guard let handle else { return }
  let owner = handle.pointee.data.map { Unmanaged<AnyObject>.fromOpaque($0) }
  UnsafeMutableRawPointer(handle).deallocate()
  owner?.release()
}

/// Calls `body` with the Swift owner that a libuv callback gets as `data`.
@inline(__always)
func withOwner<Owner: AnyObject>(
  _ data: UnsafeMutableRawPointer?, as type: Owner.Type, _ body: (Owner) -> Void
) {
  // Needs no retain: the handle retains the owner until its close callback, which never runs within another callback.
  guard let data else { return }
  Unmanaged<Owner>.fromOpaque(data)._withUnsafeGuaranteedRef(body)
}
