/// Requests with foreign names in `Host` and in the request target (T1, T10, T11).
enum NameRows {
  static let all = rebound + lookAlikes + authorities + others + forwarded

  /// Requests with names that a web page could use for DNS rebinding, which bearerd must refuse.
  private static let rebound: [AttackRow] =
    [
      "evil.test:{port}", "localhost.evil.test:{port}", "127.0.0.1.nip.io:{port}",
      "0.0.0.0:{port}", "[::]:{port}", "[::ffff:192.0.2.1]:{port}", "2130706433:{port}", "127.0.0.1.evil.test:{other}",
      "xlocalhost:{port}", "selftest-other.localhost:{port}", "localhost:0{port}", "evil.test",
      "localhost:{port}.evil.test", "evil@localhost:{port}", "localhost@evil.test:{port}", "localhost:{port}@evil",
      "localhost:{port}#evil", "localhost:{port}/evil", "localhost:{port} evil", "localhost:{port}, evil", "",
    ].map { .host(1, "Host: \($0)", [400, 421]) } + [
      .host(1, "", [400]), .host(1, "Host: {host}\r\nHost: {host}", [400]),
      .host(1, "Host: {host}\r\nHost: evil.test", [400]),
    ]

  private static let lookAlikes: [AttackRow] =
    [
      "localhost..", "localhost%2e", "%6cocalhost", "l\u{43E}calhost", "\u{FF4C}ocalhost", "local\u{AD}host",
      "localhost@evil.test", "[::1%25lo]",
    ].map { .host(11, "Host: \($0):{port}", [400]) }
    + [
      "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "evil-localhost", "localhost.evil.test", "[64:ff9b::7f00:1]",
    ].map { .host(11, "Host: \($0):{port}", [421]) }

  private static let authorities: [AttackRow] =
    [
      "http://evil.test{path}", "https://evil.test{path}", "http://evil.test:80{path}", "http://evil.test:{port}{path}",
      "http://localhost@evil.test{path}", "http://localhost:{other}{path}", "ftp://{host}{path}",
      "http://{host}@evil.test{path}", "http://u:p@{host}{path}", "http://{path}", "http://{host}#{path}", "{host}",
      "api/x", "*", "http://{host}\\@evil.test{path}", "http://localhost%00:{port}{path}",
      "http://{host}%2F@evil.test{path}", "http://evil.test\\@{host}{path}", "http://evil.test#@{host}{path}",
    ].map { .target(10, $0, .refused([400, 404, 421])) }
    + ["https://{host}{path}", "http://localhost{path}", "http://localhost:0{port}{path}"].map {
      .target(10, $0, .refused([400, 404, 421]), .ports)
    }

  private static let others: [AttackRow] =
    [
      "Host: evil.test", "Host: {host}\r\nhost: evil.test", "Host: {host}\r\n Host: evil.test",
      "Host: {host}\r\nHost : evil.test", "Host: {host}@evil.test", "Host: {host}#evil.test", "Host: {host}/evil.test",
    ].map { .host(10, $0, [400, 421]) } + [.host(10, "Host: evil.test", [400, 421], target: "http://{host}{path}")]

  /// Requests with fields that claim another destination, which bearerd must ignore and remove.
  private static let forwarded: [AttackRow] =
    [.fields(10, "X-Forwarded-Host: evil.test", .passed(without: []))]
    + [
      "X-Forwarded-Host: evil.test", "Forwarded: host=evil.test", "X-Original-URL: http://evil.test/",
      "X-Rewrite-URL: /evil.test", "X-Forwarded-For: evil.test", "X_Forwarded_Host: evil.test",
      "X-Forwarded-Proto: evil.test",
    ].map { .fields(10, $0, .passed(without: ["evil.test"]), .name(String($0.prefix { $0 != ":" }))) }
    + ["X-Host: x", "X-Original-Host: x", "X-HTTP-Host-Override: x"].map { .fields(10, $0, .passed(without: [])) }
}
