internal import HTTP1
internal import Policy
internal import Primitives

/// The fields that tell a browser which pages may read an answer, and as what it may show it: ours alone (Fetch standard, "CORS
/// protocol"). Callers are known by the kernel, so pages need no cookies: credentials are never allowed, which also gives `*`
/// its wide meaning.
enum CrossOrigin {
  /// Appends the fields of an answer, or nothing.
  static func write(for admitted: AdmittedRequest, to output: inout ByteBuffer) {
    if admitted.isSandboxed { output.append("Content-Security-Policy: sandbox\r\n") }
    if let page = admitted.page {
      write(page, to: &output)
    } else if admitted.dependsOnOrigin {
      output.append("Vary: Origin\r\n")
    }
  }

  /// Appends the fields of an answer that this page may read.
  static func write(_ page: [UInt8], to output: inout ByteBuffer) {
    output.append("Vary: Origin\r\n")
    writeOrigin(page, to: &output)
    output.append("Access-Control-Expose-Headers: *\r\n")
  }

  /// Appends the fields of the answer to a preflight that asks about what the rules allow. It says yes to every field: what a page may not
  /// send is removed on the way. What it may do is decided again by its request, so that a browser may keep this.
  static func writePreflight(_ head: RequestHead, _ admitted: AdmittedRequest, to output: inout ByteBuffer) {
    guard let page = admitted.page, let method = admitted.preflight else { return }
    let span = head.bytes.span
    writeOrigin(page, to: &output)
    MessageWriter.field(name: "Access-Control-Allow-Methods", value: span.extracting(method), to: &output)
    // `*` does not mean Authorization, which libraries send with whatever they were given as a key.
    output.append("Access-Control-Allow-Headers: *, Authorization\r\nAccess-Control-Max-Age: 600\r\n")
    for field in head.fields {
      // A page from the public network, or from another machine's, asks whether a local server takes that.
      if FieldName.matches(field.name, of: span, "access-control-request-private-network") {
        output.append("Access-Control-Allow-Private-Network: true\r\n")
      } else if FieldName.matches(field.name, of: span, "access-control-request-local-network") {
        output.append("Access-Control-Allow-Local-Network: true\r\n")
      }
    }
    output.append("Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\r\n")
  }

  private static func writeOrigin(_ page: [UInt8], to output: inout ByteBuffer) {
    MessageWriter.field(name: "Access-Control-Allow-Origin", value: page.span, to: &output)
  }
}
