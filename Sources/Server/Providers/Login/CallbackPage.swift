internal import HTTP1

/// The page for a browser that returns from a login.
struct CallbackPage {
  let status: Int
  let title: String
  let text: String

  init(status: Int, _ title: String, _ text: String) {
    (self.status, self.title, self.text) = (status, title, text)
  }

  static func loggedIn(_ credential: String) -> CallbackPage {
    CallbackPage(status: 200, "Logged in", "\(credential) is logged in. You can close this page.")
  }
  static let nothingHere = CallbackPage(status: 404, "Not found", "no login is in progress here")

  var bytes: [UInt8] {
    let body = """
      <!doctype html><meta charset="utf-8"><title>bearerd</title><h1>\(Self.escaped(title))</h1><p>\(Self.escaped(text))</p>

      """
    let reason = ReasonPhrase.standard(status)?.description ?? ""
    return Array(
      """
      HTTP/1.1 \(status) \(reason)\r
      Content-Type: text/html; charset=utf-8\r
      Content-Length: \(body.utf8.count)\r
      Cache-Control: no-store\r
      Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r
      Referrer-Policy: no-referrer\r
      X-Content-Type-Options: nosniff\r
      Connection: close\r
      \r
      \(body)
      """.utf8)
  }

  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { text, character in
      switch character {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      default: text.append(character)
      }
    }
  }
}
