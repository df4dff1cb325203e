import System
import Testing

/// Input and variables of a program (T42).
extension HelperProcessTests {
  @Test func `a program receives its complete input, and too much input throws`() throws {
    for count in [0, 1, 4_096, 65_536] {
      let input = [UInt8](repeating: 0x78, count: count)
      let process = try input.withUnsafeBytes { bytes in
        try HelperProcess(words: ["/usr/bin/wc", "-c"], variables: ["ONE=1"], input: bytes, limit: 100)
      }
      let (output, end) = try ending(process)
      #expect(output == "\(count)\n" && end == .status(0))
    }
    #expect(throws: SystemError.self) {
      try [UInt8](repeating: 0x78, count: 2 << 20).withUnsafeBytes { bytes in
        _ = try HelperProcess(words: ["/bin/cat"], input: bytes, limit: 100)
      }
    }
  }

  @Test func `a program gets the additional environment variables`() throws {
    let (output, _) = try ending(HelperProcess(words: ["/usr/bin/env"], variables: ["INFO={\"a\":1}"], limit: 1000))
    #expect(output.contains("INFO={\"a\":1}\n") && output.split(separator: "\n").count == 4)
  }
}
