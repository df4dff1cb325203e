@_spi(SecretBytes) internal import Secrets

#if DEBUG
  extension Keyring {
    /// Crashes while registers hold a pointer to this credential's lines, and eight bytes of them: what the process then
    /// shows can be tested, and need not be believed (T49). In builds for debugging only.
    package func trap(withSecretOfGrant index: Int) {
      if slots.indices.contains(index) { slots[index].trap() }
    }
  }

  extension CredentialSlot {
    fileprivate func trap() {
      let slot = self
      switch slot.lines {
      case .some(let lines): lines.withBytes { overflow($0) }
      case .none: return
      }
    }
  }

  /// Adds two numbers whose sum is too large. Both are used afterwards, so that they have to be somewhere.
  @inline(never) private func overflow(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, bytes.count >= 32 else { return }
    let word = start.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    let sum = word + (.max - word / 2)
    _ = start.advanced(by: Int(truncatingIfNeeded: sum ^ word))
  }
#endif
