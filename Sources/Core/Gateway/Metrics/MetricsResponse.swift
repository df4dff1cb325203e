internal import Primitives

enum MetricsResponse {
  /// Writes the response to a scrape.
  static func write(_ body: [UInt8], to output: inout OutgoingResponse) {
    output.begin(200, reason: "OK")
    output.fields.append("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n")
    output.fields.append("Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n")
    output.append(content: body[...])
  }
}
