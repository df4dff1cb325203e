internal import HTTP1
internal import Policy
internal import Primitives

/// Writes the response fields that tell a browser which pages may read the response, and whether to sandbox it (Fetch
/// standard, "CORS protocol").
enum CrossOrigin {
  /// Appends the fields that an admitted request's response needs for browsers.
  static func write(for admitted: AdmittedRequest, to output: inout ByteBuffer) {
    if admitted.isSandboxed { output.append("Content-Security-Policy: sandbox\r\n") }
    if let page = admitted.page {
      write(page, to: &output)
    } else if admitted.variesByOrigin {
      output.append("Vary: Origin\r\n")
    }
  }

  static func write(_ page: [UInt8], to output: inout ByteBuffer) {
    output.append("Vary: Origin\r\n")
    writeOrigin(page, to: &output)
    output.append("Access-Control-Expose-Headers: *\r\n")
  }

  /// Appends the fields for the response to an allowed preflight.
  static func writePreflight(_ head: RequestHead, _ admitted: AdmittedRequest, to output: inout ByteBuffer) {
    guard let page = admitted.page, let method = admitted.preflight else { return }
    let span = head.bytes.span
    writeOrigin(page, to: &output)
    FieldWriter.field(name: "Access-Control-Allow-Methods", value: span.extracting(method), to: &output)
    // `*` does not include Authorization, which libraries send with any configured key.
    output.append("Access-Control-Allow-Headers: *, Authorization\r\nAccess-Control-Max-Age: 600\r\n")
    for field in head.fields {
      // A page from the public network or another machine asks whether the local server allows this.
      if FieldName.matches(field.name, of: span, "access-control-request-private-network") {
        output.append("Access-Control-Allow-Private-Network: true\r\n")
      } else if FieldName.matches(field.name, of: span, "access-control-request-local-network") {
        output.append("Access-Control-Allow-Local-Network: true\r\n")
      }
    }
    output.append("Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\r\n")
  }

  private static func writeOrigin(_ page: [UInt8], to output: inout ByteBuffer) {
    FieldWriter.field(name: "Access-Control-Allow-Origin", value: page.span, to: &output)
  }
}
