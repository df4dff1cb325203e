import Policy
import TestSupport
import Testing

@Suite struct PinTests {
  /// SPKI of the Ed25519 key of RFC 8032, test 1.
  static let value = "BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k="

  @Test func `a pin is parsed with every prefix, and written in one form`() throws {
    let pin = try Pin(parsing: Self.value)
    #expect(pin.description == "sha256/" + Self.value)
    for text in ["sha256/", "sha256//"] { #expect(try Pin(parsing: text + Self.value) == pin) }
    for text in ["pin-sha256=\"\(Self.value)\"", "Pin-SHA256=\"\(Self.value)\";", "pin-sha256=\(Self.value)"] {
      #expect(try Pin(parsing: text) == pin)
    }
    #expect(Pin(digest: pin.digest) == pin)
    #expect(pin.digest.count == 32 && pin.digest.prefix(4) == [0x06, 0xe3, 0xfd, 0x8f])
    for count in [0, 20, 31, 33] { #expect(Pin(digest: [UInt8](repeating: 1, count: count)) == nil) }
  }

  /// A pin in another encoding, and the corrected form in the error message.
  static let corrected = [
    ("BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k", value), ("BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6l=", value),
    ("BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6m=", value), ("BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6n=", value),
    ("BuP9j9opu2CrWVV95h7b CuzbIxE0vjDnW0Vfjht5L6k=", value), ("BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k=\n", value),
    ("06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9", value),
    ("06:E3:FD:8F:DA:29:BB:60:AB:59:55:7D:E6:1E:DB:0A:EC:DB:23:11:34:BE:30:E7:5B:45:5F:8E:1B:79:2F:A9", value),
    ("-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_-_8=", "+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/8="),
  ]

  @Test(arguments: corrected) func `a pin in another encoding is refused with the corrected form`(
    _ text: String, _ wanted: String
  ) {
    for prefix in ["", "sha256/", "sha256//"] {
      #expect { try Pin(parsing: prefix + text) } throws: {
        ($0 as? PolicySyntaxError)?.message.hasSuffix("expected sha256/\(wanted)") == true
      }
    }
  }

  @Test(arguments: ["SHA256/", "sha256:", "sha256-", "sha256=", "sha-256/"])
  func `a pin with another prefix is refused with the corrected form`(_ prefix: String) {
    #expect { try Pin(parsing: prefix + Self.value) } throws: {
      ($0 as? PolicySyntaxError)?.message.hasSuffix("expected sha256/\(Self.value)") == true
    }
  }

  @Test(arguments: corrected) func `a directive with another encoding is refused with the corrected form`(
    _ text: String, _ wanted: String
  ) {
    #expect { try Pin(parsing: "pin-sha256=\"\(text)\"") } throws: {
      ($0 as? PolicySyntaxError)?.message.hasSuffix("expected sha256/\(wanted)") == true
    }
  }

  static let refused = [
    "pin-sha256=", "pin-sha256=\"\"", "pin-sha256=\"", "pin-sha256=\"\(value)", "pin-sha256=\(value)\"",
    "pin-sha256=\"sha256/\(value)\"", "pin-sha256=\"\(value)\";;",
    "pin-sha256=\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"",
    "pin-sha1=\"\(value)\"", "pin-sha256=\"\(value)\"; pin-sha256=\"\(value)\"; max-age=1",
    "", "sha256/", "sha256///" + value, "SHA256/" + value, "sha1/" + value, "sha256:" + value,
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ==",
    "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB", "====", "A===", "AAA", "AA=A",
    value + "=", "=" + value, value + value, "é" + value, String(repeating: "=", count: 44),
    String(repeating: "A", count: 100_001),
  ]

  @Test(arguments: refused) func `malformed pins are refused`(_ text: String) {
    #expect(throws: PolicySyntaxError.self) { try Pin(parsing: text) }
  }

  @Test(arguments: [String(repeating: "A", count: 43), String(repeating: "00", count: 32)])
  func `the error for a placeholder suggests no corrected form`(_ text: String) {
    #expect { try Pin(parsing: text) } throws: { ($0 as? PolicySyntaxError)?.message.contains("AAAA=") == false }
  }

  @Test func `equal pins count once, and pins can be sorted`() throws {
    let one = try Pin(parsing: Self.value)
    let other = try #require(Pin(digest: [UInt8](repeating: 9, count: 32)))
    #expect([other, one].sorted() == [one, other])
    #expect(Set([one, try Pin(parsing: "sha256/" + Self.value), other]).count == 2)
  }

  @Test func `every written pin is parsed back unchanged`() throws {
    var random = SeededGenerator(state: 5)
    for _ in 0..<2000 {
      let pin = try #require(Pin(digest: (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }))
      #expect(try Pin(parsing: pin.description) == pin)
      #expect(pin.description.count == 51 && pin.description.hasSuffix("="))
    }
  }
}
