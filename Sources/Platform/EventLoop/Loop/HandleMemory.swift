internal import CLibuv

/// The memory of one libuv handle.
///
/// "The handle's memory can only be reclaimed … from inside the `uv_close_cb`" (libuv, docs/src/design.rst). So neither
/// ARC nor a `deinit` may own it: while the handle is open, it retains its Swift owner, and only the close callback lets
/// both go. An owner that is never closed stays, and the loop's `deinit` finds it.
struct HandleMemory<Raw> {
  let raw: UnsafeMutablePointer<Raw>

  /// `byteCount` is larger than `Raw` where the handle is used through a base type, as `uv_stream_t` is.
  init(byteCount: Int = MemoryLayout<Raw>.size) {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    raw = memory.assumingMemoryBound(to: Raw.self)
  }

  /// From now on the handle keeps `owner` alive. Call it once `uv_…_init` has succeeded.
  func retain(_ owner: AnyObject) {
    base.pointee.data = Unmanaged.passRetained(owner).toOpaque()
  }

  /// For the loop's own handles, which must not keep the loop alive. Close them with `closeLent`.
  func lend(_ owner: AnyObject) {
    base.pointee.data = Unmanaged.passUnretained(owner).toOpaque()
  }

  /// Call it once; the memory is gone on a later turn.
  func close() {
    uv_close(base) { releaseOwnerAndDeallocate($0) }
  }

  /// Closes with a reset instead of a FIN; the raw handle must be a `uv_tcp_t`.
  func closeWithReset() {
    let tcp = UnsafeMutableRawPointer(raw).assumingMemoryBound(to: uv_tcp_t.self)
    if uv_tcp_close_reset(tcp, { releaseOwnerAndDeallocate($0) }) != 0 { close() }
  }

  func closeLent() {
    uv_close(base) { UnsafeMutableRawPointer($0)?.deallocate() }
  }

  /// For a handle whose `uv_…_init` failed, so that the loop does not know it.
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

/// The Swift object behind a callback's `data`. It needs no retain of its own: its handle holds it at least until the
/// close callback, which never runs within another callback.
@inline(__always)
func withOwner<Owner: AnyObject>(
  _ data: UnsafeMutableRawPointer?, as type: Owner.Type, _ body: (Owner) -> Void
) {
  guard let data else { return }
  Unmanaged<Owner>.fromOpaque(data)._withUnsafeGuaranteedRef(body)
}
