import Foundation
import Redaction
@_spi(SecretBytes) import Secrets
import System
import Testing

/// Masks one response with one redactor.
struct Masked {
  let redactor = Redactor()

  init(_ patterns: SecretPatterns) { redactor.begin(patterns) }

  static func patterns(of value: String) throws -> SecretPatterns {
    let arena = SecretArena()
    var values = try SecretList(in: arena)
    try values.add { (text) throws(SystemError) in try text.append(value) }
    return try SecretPatterns(of: values, in: arena)
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

/// The encodings of a value, made by other encoders.
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
    // Characters that encoders do not escape: RFC 3986, paths in Python and Go, encodeURIComponent, encodeURI, Java and
    // forms, the userinfo of URLs, .alphanumerics of Swift.
    for kept in [
      "-._~", "-._~/", "-_.~$&+:=@", "-_.!~*'()", "-_.!~*'();/?:@&=+$,#", "-_.*", "-_.!~*'()%&+$,", "",
    ] {
      let allowed = CharacterSet(charactersIn: kept + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
      let form = value.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
      add("percent \(kept)", form)
      add("percent \(kept), lower", lowerEscapes(form))
      add("percent \(kept), mixed", lowerEscapes(String(form.prefix(form.count / 2))) + form.dropFirst(form.count / 2))
      add("form \(kept)", form.replacing("%20", with: "+"))
    }
    add("percent, all of it", value.utf8.map { String(format: "%%%02X", $0) }.joined())
    add("json, all of it", value.utf16.map { String(format: "\\u%04x", $0) }.joined())
    for (apostrophe, other) in [("&#39;", "&#34;"), ("&#039;", "&quot;"), ("&#x27;", "&#x22;"), ("&apos;", "\"")] {
      let html = value.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      add("html", html.replacing("'", with: apostrophe).replacing("\"", with: other))
    }
    add(
      "html, all but letters and digits",
      value.unicodeScalars.map {
        $0.isASCII && CharacterSet.alphanumerics.contains($0) ? String($0) : "&#x\(String($0.value, radix: 16));"
      }.joined())
    for (name, options) in [("json", JSONSerialization.WritingOptions.withoutEscapingSlashes), ("json/", [])] {
      let encoded = try? JSONSerialization.data(withJSONObject: [value], options: options)
      add(name, String(decoding: (encoded ?? Data()).dropFirst(2).dropLast(2), as: UTF8.self))
    }
    let units = value.unicodeScalars.map { scalar -> String in
      if scalar == "\"" || scalar == "\\" { return "\\\(scalar)" }
      return scalar.isASCII ? String(scalar) : String(scalar).utf16.map { String(format: "\\u%04x", $0) }.joined()
    }
    add("json, ascii", units.joined())
    let signs = ["<": "\\u003c", ">": "\\u003E", "&": "\\u0026", "+": "\\u002B", "'": "\\u0027", "/": "\\u002f"]
    add(
      "json, signs",
      value.map { signs[String($0)] ?? ($0 == "\"" ? "\\u0022" : $0 == "\\" ? "\\\\" : String($0)) }.joined())
  }

  private mutating func add(_ name: String, _ form: String) {
    let form = Array(form.utf8)
    if !all.contains(where: { $0.1.count == form.count && $0.1 == form }) { all.append((name, form)) }
  }

  /// The base64 characters that do not depend on the bytes around the value, for one alignment.
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

extension [UInt8] {
  func masked(_ ranges: [Range<Int>]) -> [UInt8] {
    var masked = self
    for range in ranges { masked.replaceSubrange(range, with: stars(range.count)) }
    return masked
  }
}
