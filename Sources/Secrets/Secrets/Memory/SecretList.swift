package import System

/// Texts that are secret, one behind the other in one block: a `Secret` cannot be collected.
package struct SecretList: ~Copyable {
  private var bytes: Secret
  package private(set) var ranges: [Range<Int>] = []

  /// Empty.
  @_spi(SecretBytes) public init(in arena: SecretArena) throws(SystemError) {
    bytes = try Secret(capacity: 512, in: arena)
  }

  package var totalCount: Int { bytes.count }

  /// Adds what `write` appends, unless it is there already, or nothing.
  @_spi(SecretBytes) public mutating func add(_ write: (inout Secret) throws(SystemError) -> Void) throws(SystemError) {
    let start = bytes.count
    try write(&bytes)
    let range = start..<bytes.count
    if range.isEmpty || isKnown(range) { bytes.removeLast(range.count) } else { ranges.append(range) }
  }

  /// Adds a copy, unless it is there already, or nothing.
  @_spi(SecretBytes) public mutating func add(_ text: borrowing Secret) throws(SystemError) {
    try text.withBytes { (text) throws(SystemError) in
      try add { (bytes) throws(SystemError) in try bytes.append(text) }
    }
  }

  /// Borrowed for the call; `ranges` point into it.
  @_spi(SecretBytes) public borrowing func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withBytes(body)
  }

  private func isKnown(_ range: Range<Int>) -> Bool {
    bytes.withBytes { bytes in
      ranges.contains { $0.count == range.count && bytes[$0].elementsEqual(bytes[range]) }
    }
  }
}
