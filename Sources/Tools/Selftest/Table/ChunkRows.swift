internal import Console

/// Requests with malformed chunks, which bearerd must refuse (T16, RFC 9112 section 7.1).
enum ChunkRows {
  static let all = [
    "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "6\r\nhello\r\n0\r\n\r\n",
    "4\r\nhello\r\n0\r\n\r\n", "3\r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
    "-1\r\n", "+5\r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "5g\r\nhello\r\n0\r\n\r\n",
    "\r\nhello\r\n0\r\n\r\n", ";x\r\nhello\r\n0\r\n\r\n", "10000000000000000\r\n",
    "10000000000000005\r\nhello\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",
    "5;a\nb\r\nhello\r\n0\r\n\r\n", "5;a\rb\r\nhello\r\n0\r\n\r\n", "5;a=\"b\r\nhello\r\nc\"\r\n0\r\n\r\n",
    "5\0\r\nhello\r\n0\r\n\r\n", "5;\(String(repeating: "x", count: 20_000))\r\nhello\r\n0\r\n\r\n",
    "0\r\nX Y: z\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\n X: y\r\n\r\n", "0\n\n", "0\r\n\n",
  ].map { chunks in
    AttackRow(
      16, "chunks \(String(chunks.prefix(40)).replacing("\r\n", with: "/").harmless)",
      "{method} {path} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks){smuggled}",
      .refused([400])
    )
  }
}
