/// A message of gRPC: a length, and a text as the first field of a protobuf message.
enum GRPCMessage {
  /// Returns the message for a text of at most 127 bytes.
  static func encode(_ text: String) -> [UInt8] {
    let text = Array(text.utf8.prefix(127))
    // Field 1, of variable length. Before it, the flag for compression and the length.
    let message = [0x0A, UInt8(text.count)] + text
    return [0, 0, 0, 0, UInt8(message.count)] + message
  }

  /// Returns the text of one whole message. `nil` if `bytes` is anything else.
  static func decode(_ bytes: [UInt8]) -> String? {
    guard bytes.count >= 7, bytes[0..<4].allSatisfy({ $0 == 0 }), Int(bytes[4]) == bytes.count - 5, bytes[5] == 0x0A,
      Int(bytes[6]) == bytes.count - 7
    else { return nil }
    return String(decoding: bytes[7...], as: UTF8.self)
  }
}
