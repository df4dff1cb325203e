import Credentials
import Foundation
import TestSupport
import Testing

/// One answer through one redactor.
struct Masked {
  let redactor = Redactor()

  init(_ patterns: SecretPatterns) { redactor.begin(patterns) }

  /// - Parameter asPassword: which may have more than ASCII.
  static func patterns(of value: String, asPassword: Bool = false) throws -> SecretPatterns {
    let scratch = try Scratch()
    let source = SecretSource.file(try scratch.write("value", value))
    let keyring = try keyring(
      asPassword
        ? .basic(user: .plain("u"), password: source)
        : .headers([HeaderTemplate(name: "X-Key", prefix: "", value: .secret(source))]))
    return try #require(keyring.patterns(ofGrant: 0), "\(keyring.status(ofGrant: 0).problem ?? "")")
  }

  func whole(_ text: [UInt8]) throws -> [UInt8] {
    var text = text
    try #require(redactor.redact(&text))
    return text
  }

  func stream(_ pieces: [[UInt8]], releases: () -> Bool = { false }) throws -> [UInt8] {
    var output: [UInt8] = []
    for piece in pieces {
      var changed: [UInt8] = []
      let rest = try #require(redactor.redact(piece.span, changed: &changed))
      output += changed + piece[rest]
      if releases() { redactor.release(to: &output) }
    }
    redactor.release(to: &output)
    return output
  }
}

/// The forms of a value as others make them.
struct Forms {
  private(set) var all: [(String, [UInt8])] = []

  init(_ value: String) {
    add("raw", value)
    for alignment in 0..<3 {
      let form = Self.base64(value, alignment)
      add("base64 \(alignment)", form)
      add("base64url \(alignment)", form.replacing("+", with: "-").replacing("/", with: "_"))
    }
    add("hex", value.utf8.map { String(format: "%02x", $0) }.joined())
    add("HEX", value.utf8.map { String(format: "%02X", $0) }.joined())
    for kept in ["-._~", "-._~/", "-._~!'()*"] {
      let allowed = CharacterSet(charactersIn: kept + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
      let form = value.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
      add("percent", form)
      add("percent, lower", lowerEscapes(form))
    }
    for (name, options) in [("json", JSONSerialization.WritingOptions.withoutEscapingSlashes), ("json/", [])] {
      let encoded = try? JSONSerialization.data(withJSONObject: [value], options: options)
      add(name, String(decoding: (encoded ?? Data()).dropFirst(2).dropLast(2), as: UTF8.self))
    }
    let units = value.unicodeScalars.map { scalar -> String in
      if scalar == "\"" || scalar == "\\" { return "\\\(scalar)" }
      return scalar.isASCII ? String(scalar) : String(scalar).utf16.map { String(format: "\\u%04x", $0) }.joined()
    }
    add("json, ascii", units.joined())
  }

  private mutating func add(_ name: String, _ form: String) {
    let form = Array(form.utf8)
    if !all.contains(where: { $0.1 == form }) { all.append((name, form)) }
  }

  /// What all encodings have in common that have the value at this place.
  private static func base64(_ value: String, _ alignment: Int) -> String {
    let bytes = [UInt8](value.utf8)
    let encodings = [UInt8(0), 255].map { filler in
      Array(Data(repeating: filler, count: alignment) + bytes + Data(repeating: filler, count: 3)).base64
    }
    let start = (alignment * 8 + 5) / 6
    let end = (alignment + bytes.count) * 8 / 6
    #expect(encodings[0][start..<end] == encodings[1][start..<end])
    return String(decoding: encodings[0][start..<end], as: UTF8.self)
  }

  private func lowerEscapes(_ text: String) -> String {
    var left = 0
    return String(
      text.map { character in
        if character == "%" {
          left = 2
          return character
        }
        left -= 1
        return left >= 0 ? Character(character.lowercased()) : character
      })
  }
}

extension [UInt8] {
  fileprivate var base64: [UInt8] { Array(Data(self).base64EncodedString().utf8) }
}

func stars(_ count: Int) -> [UInt8] { Array(repeating: UInt8(ascii: "*"), count: count) }

func places(of form: [UInt8], in text: [UInt8]) -> [Range<Int>] {
  guard !form.isEmpty, text.count >= form.count else { return [] }
  return (0...(text.count - form.count)).filter { text[$0..<($0 + form.count)].elementsEqual(form) }
    .map { $0..<($0 + form.count) }
}

/// Every byte of every form that stands there, and an end that is eight or more bytes of the beginning of one.
func oracle(_ text: [UInt8], _ forms: [[UInt8]]) -> [UInt8] {
  var masked = text
  for form in forms {
    for place in places(of: form, in: text) { masked.replaceSubrange(place, with: stars(place.count)) }
  }
  let open = forms.flatMap { form in (0..<form.count).filter { text.suffix($0).elementsEqual(form.prefix($0)) } }.max()
  if let open, open >= 8 { masked.replaceSubrange((text.count - open)..., with: stars(open)) }
  return masked
}

/// The same numbers each time.
struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
