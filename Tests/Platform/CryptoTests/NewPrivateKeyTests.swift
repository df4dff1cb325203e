import Crypto
import Glibc
import TestSupport
import Testing

@Suite struct NewPrivateKeyTests {
  private static func pem(_ key: borrowing PrivateKey) throws -> [UInt8] {
    try #require(key.withPEM { Array($0) })
  }

  @Test func `a new key is written as PKCS #8, and read back with the same pin`() throws {
    let key = try PrivateKey.newP256()
    let pem = try Self.pem(key)
    #expect(String(decoding: pem, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    let copy = try pem.span.withUnsafeBytes { (pem) throws(PrivateKey.Problem) in try PrivateKey(pem: pem) }
    let (pin, pinOfCopy) = (key.pin, copy.pin)
    #expect(pin != nil && pin == pinOfCopy)
    let signing = try pem.span.withUnsafeBytes { (pem) throws(PrivateKey.Problem) in try SigningKey(pem: pem).algorithm
    }
    #expect(signing == .es256)
  }

  @Test func `every key is different`() throws {
    let (one, other) = (try PrivateKey.newP256().pin, try PrivateKey.newP256().pin)
    #expect(one != nil && other != nil && one != other)
  }

  @Test func `an error of the reader of the text is passed on`() throws {
    struct Full: Error {}
    let key = try PrivateKey.newP256()
    var isThrown = false
    do throws(Full) { _ = try key.withPEM { (_) throws(Full) in throw Full() } } catch { isThrown = true }
    #expect(isThrown)
  }

  @Test(.enabled(if: !isSanitized)) func `a new key leaves no copy in memory after it was written`() async {
    await #expect(processExitsWith: .success) {
      for _ in 0..<3 {
        let key = try PrivateKey.newP256()
        // 16 characters of base64 with 12 bytes of the private number, with all bits inverted.
        let text = key.withPEM { pem in
          pem.dropFirst("-----BEGIN PRIVATE KEY-----\n".utf8.count + 48).prefix(16).map { ~$0 }
        }
        guard let text, text.count == 16 else { exit(100) }
        let number = invertedBytes(text)
        // OpenSSL stores numbers with the lowest byte first.
        func numbers() -> Int { [number, number.reversed()].map { occurrences(of: $0) { ~$0 } }.reduce(0, +) }
        if key.pin == nil { exit(101) }
        // The exit code is the number of copies that are too many.
        if case let excess = numbers() - 1, excess != 0 { exit(Int32(excess)) }
        if case let excess = occurrences(of: text, by: { ~$0 }), excess != 0 { exit(Int32(10 + excess)) }
        _ = consume key
        if case let excess = numbers(), excess != 0 { exit(Int32(20 + excess)) }
      }
    }
  }
}

/// Decodes base64 whose bits are inverted, and returns the bytes with their bits inverted.
private func invertedBytes(_ text: [UInt8]) -> [UInt8] {
  let values = text.map { inverted -> UInt32 in
    switch ~inverted {
    case let letter where letter >= UInt8(ascii: "a"): UInt32(letter - UInt8(ascii: "a") + 26)
    case let letter where letter >= UInt8(ascii: "A"): UInt32(letter - UInt8(ascii: "A"))
    case let digit where digit >= UInt8(ascii: "0"): UInt32(digit - UInt8(ascii: "0") + 52)
    case UInt8(ascii: "+"): 62
    default: 63
    }
  }
  return stride(from: 0, to: values.count, by: 4).flatMap { index -> [UInt8] in
    let bits = ~(values[index] << 18 | values[index + 1] << 12 | values[index + 2] << 6 | values[index + 3])
    return [16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> $0) }
  }
}
