package import System

/// Secret texts, stored one after another in one block.
package struct SecretList: ~Copyable {
  private var bytes: Secret
  package private(set) var ranges: [Range<Int>] = []

  /// Creates an empty list.
  @_spi(SecretBytes) public init(in arena: SecretArena) throws(SystemError) {
    bytes = try Secret(capacity: 512, in: arena)
  }

  /// Adds the bytes that `write` appends, unless they are empty or already in the list.
  @_spi(SecretBytes) public mutating func add(_ write: (inout Secret) throws(SystemError) -> Void) throws(SystemError) {
    let start = bytes.count
    try write(&bytes)
    let range = start..<bytes.count
    if range.isEmpty || isKnown(range) { bytes.removeLast(range.count) } else { ranges.append(range) }
  }

  /// Adds a copy, unless the text is empty or already in the list.
  @_spi(SecretBytes) public mutating func add(_ text: borrowing Secret) throws(SystemError) {
    try text.withBytes { (text) throws(SystemError) in
      try add { (bytes) throws(SystemError) in try bytes.append(text) }
    }
  }

  /// Lends the bytes of all texts for the duration of the call. `ranges` has the position of each text.
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
