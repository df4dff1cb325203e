package import Primitives

package enum MetricsResponse {
  /// Appends the HTTP response to a scrape. The response to HEAD has no body.
  package static func write(_ body: [UInt8], isHead: Bool, closes: Bool, to output: inout ByteBuffer) {
    output.append("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: ")
    output.append(decimal: UInt64(body.count))
    output.append("\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n")
    if closes { output.append("Connection: close\r\n") }
    output.append("\r\n")
    if !isHead { output.append(contentsOf: body) }
  }
}
