import Credentials
import Redaction
import Secrets
import TestSupport

/// Checks that a compressed body is masked like the plain text, wherever it is cut.
func checkDecoded(_ text: [UInt8], _ expected: [UInt8], _ patterns: SecretPatterns) {
  let body = stored(text)
  for ends in [[body.count]] + waysToCut(body) {
    let (output, isWhole) = decoded(pieces(body, ends), .gzip, patterns)
    promise(output == expected && isWhole, "\(shown(text)) in gzip cut at \(ends): \(shown(output ?? []))")
  }
  if !body.isEmpty {
    let (_, isWhole) = decoded([Array(body.dropLast())], .gzip, patterns)
    promise(!isWhole, "\(shown(text)) in gzip is whole without its last byte")
  }
}

/// Decodes arbitrary bytes, and checks the size of the output and that it does not depend on the cuts.
func checkCoded(_ bytes: [UInt8], _ patterns: SecretPatterns) {
  for coding in [Redactor.Coding.gzip, .deflate] {
    let (whole, isWhole) = decoded([bytes], coding, patterns)
    promise((whole?.count ?? 0) <= 262_144, "\(whole?.count ?? 0) bytes came of \(shown(bytes))")
    for ends in waysToCut(bytes) {
      let (cut, isCutWhole) = decoded(pieces(bytes, ends), coding, patterns)
      promise(cut == whole && isCutWhole == isWhole, "\(shown(bytes)) cut at \(ends) is another")
    }
  }
}

/// Returns the masked output, or `nil` if the input cannot be decoded.
private func decoded(
  _ pieces: [[UInt8]], _ coding: Redactor.Coding, _ patterns: SecretPatterns
) -> (output: [UInt8]?, isWhole: Bool) {
  let redactor = Redactor()
  redactor.begin(patterns)
  promise(redactor.decode(coding), "there is no memory")
  var output: [UInt8] = []
  for piece in pieces {
    var changed: [UInt8] = []
    guard let rest = redactor.redact(piece.span, changed: &changed) else { return (nil, false) }
    promise(rest.isEmpty, "coded bytes went on")
    output += changed
  }
  redactor.release(to: &output)
  return (output, redactor.isWhole)
}

/// Returns the text as an uncompressed gzip member (RFC 1952, RFC 1951 section 3.2.4).
private func stored(_ text: [UInt8]) -> [UInt8] {
  func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> (8 * $0) & 255) } }
  var body: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
  for start in stride(from: 0, to: max(1, text.count), by: 65_535) {
    let block = text[start..<min(text.count, start + 65_535)]
    body += [block.endIndex == text.count ? 1 : 0] + little(block.count, 2) + little(~block.count & 0xFFFF, 2) + block
  }
  var sum: UInt32 = ~0
  for byte in text {
    sum ^= UInt32(byte)
    for _ in 0..<8 { sum = sum & 1 == 0 ? sum >> 1 : sum >> 1 ^ 0xEDB8_8320 }
  }
  return body + little(Int(~sum), 4) + little(text.count, 4)
}
