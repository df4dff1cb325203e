@_spi(SecretBytes) internal import Secrets

#if DEBUG
  extension Keyring {
    /// Crashes while registers contain eight bytes of the credential and a pointer to it, to test crash reports (T49).
    package func trap(withSecretOfGrant index: Int) {
      if slots.indices.contains(index) { slots[index].lines.withValue { $0.withBytes { overflow($0) } } }
    }
  }

  @inline(never) private func overflow(_ bytes: UnsafeRawBufferPointer) {
    // Both operands are used afterwards, so the compiler must keep them.
    guard let start = bytes.baseAddress, bytes.count >= 32 else { return }
    let word = start.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    let sum = word + (.max - word / 2)
    _ = start.advanced(by: Int(truncatingIfNeeded: sum ^ word))
  }
#endif
