import Credentials
import Redaction
import Secrets
import Glibc
import Policy
import Settings
import TestSupport

/// The input makes a secret, and a text with forms of the secret and parts of them. Checks that exactly the forms that
/// the oracle finds are masked, wherever the text is cut.
func fuzzRedaction(_ bytes: [UInt8]) {
  var input = bytes[...]
  let value = secret(&input)
  let oracle = SecretOracle(value)
  // The last byte ends a form that could continue.
  let text = stream(&input, of: value, oracle) + [0]
  guard let patterns = patterns(of: value) else { return promise(false, "\(shown(value)) cannot be looked for") }
  // Only passwords may have bytes outside of ASCII. bearerd then also searches for the pair of user and password.
  let isASCII = value.allSatisfy { $0 < 0x80 }
  let pair = isASCII ? nil : SecretOracle(paddedBase64(Array("u:".utf8) + value))
  let ownRanges = uncounted { oracle.ranges(in: text) }
  let ranges = ownRanges + uncounted { pair?.ranges(in: text) ?? [] }
  var expected = text
  for range in ranges { for index in range { expected[index] = UInt8(ascii: "*") } }
  for ends in [[text.count]] + waysToCut(text) {
    let masked = redacted(pieces(text, ends), patterns) { _ in false }
    promise(
      masked == expected, "\(shown(value)) in \(shown(text)) cut at \(ends): \(shown(masked)), not \(shown(expected))")
  }
  checkDecoded(text, expected, patterns)
  checkCoded(bytes, patterns)
  for ends in waysToCut(text) {
    let masked = redacted(pieces(text, ends), patterns) { $0 % 2 == 0 }
    checkPaused(masked, text, value, ownRanges)
  }
}

/// Checks that less than half of the secret is visible if the stream pauses within the secret.
private func checkPaused(_ masked: [UInt8], _ text: [UInt8], _ value: [UInt8], _ ranges: [Range<Int>]) {
  promise(masked.count == text.count, "\(text.count) bytes became \(masked.count)")
  let star = UInt8(ascii: "*")
  for index in text.indices where masked[index] != text[index] {
    promise(masked[index] == star, "another byte at \(index): \(shown(masked))")
  }
  // Up to three bytes of a four-byte character may be visible, too.
  let shownAtMost = max(8, (value.count + 1) / 2) - 1 + (value.allSatisfy { $0 < 0x80 } ? 0 : 3)
  for range in ranges {
    promise(
      masked[range].count { $0 == star } >= value.count - shownAtMost,
      "\(shown(value)) in \(shown(text)) with pauses: \(shown(masked))")
  }
}

private func redacted(_ pieces: [[UInt8]], _ patterns: SecretPatterns, pausesAfter: (Int) -> Bool) -> [UInt8] {
  let redactor = Redactor()
  redactor.begin(patterns)
  var output: [UInt8] = []
  for (index, piece) in pieces.enumerated() {
    var changed: [UInt8] = []
    guard let rest = redactor.redact(piece.span, changed: &changed) else {
      promise(false, "it cannot be searched")
      continue
    }
    output += changed + piece[rest]
    if pausesAfter(index) { redactor.release(to: &output) }
  }
  redactor.release(to: &output)
  return output
}

// MARK: secret and text from the input

/// Returns a secret of at least eight bytes, with characters that encoders escape and characters of several bytes.
private func secret(_ input: inout ArraySlice<UInt8>) -> [UInt8] {
  let count = 8 + Int(input.popFirst() ?? 0) % 40
  var value: [UInt8] = []
  while value.count < count {
    // A field value has no spaces at its ends.
    let byte =
      value.isEmpty || value.count == count - 1 ? max(0x21, input.popFirst() ?? 0x61) : input.popFirst() ?? 0x61
    switch byte {
    case 0x20..<0x7F: value.append(byte)
    case 0x80..<0xC0: value += Array(["é", "€", "😀", "ÿ"][Int(byte) % 4].utf8)
    default: value.append(Array(#"%\&+/"'<>=#x25u;ab"#.utf8)[Int(byte) % 18])
    }
  }
  return value
}

private func stream(_ input: inout ArraySlice<UInt8>, of value: [UInt8], _ oracle: SecretOracle) -> [UInt8] {
  var text: [UInt8] = []
  while let order = input.popFirst(), text.count < 2000 {
    let form = order & 0x80 == 0 ? spelled(&input, value, oracle) : whole(&input, oracle)
    switch order & 7 {
    case 0, 1: text += form
    case 2: text += form.prefix(Int(input.popFirst() ?? 0) % (form.count + 1))
    case 3: text += form.suffix(Int(input.popFirst() ?? 0) % (form.count + 1))
    case 4: text += form.dropLast() + form
    case 5: text += form + form.dropFirst()
    case 6: text += Array(repeating: UInt8(ascii: "-"), count: Int(order >> 3)) + form
    default:
      let count = Int(input.popFirst() ?? 0) % 64
      text += input.prefix(count)
      input = input.dropFirst(count)
    }
  }
  return text
}

private func whole(_ input: inout ArraySlice<UInt8>, _ oracle: SecretOracle) -> [UInt8] {
  let forms = oracle.wholeForms
  let choice = Int(input.popFirst() ?? 0)
  let form = forms[choice % forms.count]
  return choice & 0x80 == 0 ? form : form.map { (0x61...0x66).contains($0) ? $0 - 32 : $0 }
}

/// Returns the secret with its own encoding for each byte.
private func spelled(_ input: inout ArraySlice<UInt8>, _ value: [UInt8], _ oracle: SecretOracle) -> [UInt8] {
  var text: [UInt8] = []
  var index = 0
  var choice = Int(input.popFirst() ?? 0)
  while index < value.count {
    let spellings = oracle.spellings(at: index)
    if spellings.count > 1, choice & 1 == 0 { choice = Int(input.popFirst() ?? 0) }
    let spelling = spellings[(choice >> 1) % spellings.count]
    for (offset, byte) in spelling.text.enumerated() {
      let isUpper = choice & 0x40 != 0 && spelling.digits.contains(offset) && byte >= 0x61
      text.append(isUpper ? byte - 32 : byte)
    }
    index += spelling.advance
  }
  return text
}

// MARK: the keyring

/// Returns the patterns for a secret that is read from a file, as the daemon does. The file is in memory.
private func patterns(of value: [UInt8]) -> SecretPatterns? {
  let path = "/dev/shm/bearerd-fuzz-\(getpid())"
  let file = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o600)
  defer { unlink(path) }
  guard file >= 0, write(file, value, value.count) == value.count, close(file) == 0 else { return nil }
  let source = SecretSource.file(path)
  guard let origin = try? Origin(parsing: "https://upstream.test") else { return nil }
  let grant = Grant(name: "fuzz", origins: [origin], callers: nil, fieldNames: ["authorization"])
  let scheme: AuthScheme =
    value.allSatisfy { $0 < 0x80 }
    ? .headers([HeaderTemplate(name: "X-Key", prefix: "", value: .secret(source))])
    : .basic(user: .plain("u"), password: .secret(source))
  let entry = Keyring.Entry(grant: grant, scheme: scheme)
  guard let builder = try? KeyringBuilder(KeyringPlan([entry]), requireLockedMemory: false),
    (try? builder.build(pending: []) { true }) == true
  else { return nil }
  return builder.keyring?.patterns(ofGrant: 0)
}
