import Glibc
import TestSupport

/// Aborts the process if the condition is false. The fuzzer then reports the input.
func promise(_ isKept: Bool, _ words: @autoclosure () -> String) {
  if isKept { return }
  complain("BROKEN PROMISE: " + words())
  abort()
}

func complain(_ words: String) {
  var line = words + "\n"
  line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Returns the bytes as a quoted string.
func shown(_ bytes: some Sequence<UInt8>) -> String {
  String(decoding: Array(bytes), as: UTF8.self).debugDescription
}

/// Returns two ways to cut the input: after every byte, and at a few positions. Each way is a list of the pieces' ends.
/// The positions depend only on the input, so that findings are repeatable.
func waysToCut(_ bytes: [UInt8]) -> [[Int]] {
  var random = SeededGenerator(state: bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 })
  let cuts = (0..<Int.random(in: 1...4, using: &random)).map { _ in Int.random(in: 0...bytes.count, using: &random) }
  return [Array(0...bytes.count), cuts.sorted() + [bytes.count]]
}

/// Returns the pieces of the input that end at `ends`.
func pieces(_ bytes: [UInt8], _ ends: [Int]) -> [[UInt8]] {
  var start = 0
  return ends.map { end in
    defer { start = end }
    return Array(bytes[start..<end])
  }
}
