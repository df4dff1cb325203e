internal import Console
internal import Gateway

extension ReferencePage {
  /// An index page of all codes, and one page for each component that refuses requests.
  static var errors: [ReferencePage] {
    [ReferencePage("errors/README.md", index)]
      + Refuser.allCases.map { refuser in
        let codes = ErrorCatalogue.codes(of: refuser)
        return ReferencePage(
          "errors/\(refuser).md", "# Refused by \(refuser.title)\n" + codes.map(section).joined())
      }
  }

  private static let index = """
    # Errors

    Look up an error response of bearerd by its code. The code is the end of `type` in the body, `refused` in the log, and
    `details` in the `Proxy-Status` header field. `bearerctl errors CODE` prints the entry of a code.

    A response without `error=` in `Proxy-Status` comes from the upstream.

    gRPC calls get the gRPC status instead of the HTTP status. See [gRPC](../../grpc.md).

    | code | status | gRPC | |
    |---|---|---|---|

    """
    + RefusalCode.allCases.map { code in
      "| [`\(code.row.code)`](\(code.refuser).md#\(code.row.code)) | \(code.row.status) | \(code.row.grpc.name) | \(code.row.title) |\n"
    }.joined()

  private static func section(_ code: RefusalCode) -> String {
    let row = code.row
    let reasons = ErrorCatalogue.reasons(of: code)
    return """

      ## \(row.code)

      **\(row.status)**, gRPC `\(row.grpc.name)`, `error=\(row.proxyError)`: \(row.title).

      \(wrapped(row.what.description, width: 110))

      \(wrapped("**What to do.** " + row.todo.description, width: 110))

      """ + (reasons.isEmpty ? "" : "\n" + reasons.map { "- " + $0.drop { $0 == " " } }.joined())
  }
}
