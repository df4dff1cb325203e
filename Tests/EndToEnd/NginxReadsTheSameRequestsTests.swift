import TestServer
import Foundation
import ServerSupport
import Selftest
import TestSupport
import Testing

/// Sends the messages of `NoRequestIsSmuggled` to nginx, an independent parser. nginx must read the requests that
/// bearerd accepted, each with its body.
@Suite(.waits) struct NginxReadsTheSameRequests {
  static let program = "/usr/sbin/nginx"
  static let isInstalled = access(program, X_OK) == 0

  /// nginx in place of the stage's upstream, with the same port and certificate. The first server forwards complete
  /// requests to the second one, and logs them.
  private final class Nginx {
    private let child: Child
    private let log: String

    init(_ stage: Stage) throws {
      let directory = stage.scratch.path + "/nginx"
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      try stage.scratch.write("nginx/leaf.pem", stage.leaf.pem)
      try stage.scratch.write("nginx/leaf.key", stage.leaf.keyPEM)
      let port = stage.upstream.port
      stage.upstream.stop()
      log = directory + "/requests"
      let text = """
        daemon off; master_process off; pid D/pid; error_log D/errors;
        events {}
        http {
          client_body_temp_path D/t; proxy_temp_path D/t; fastcgi_temp_path D/t; uwsgi_temp_path D/t; scgi_temp_path D/t;
          client_body_in_single_buffer on; client_body_buffer_size 64k; keepalive_requests 100000;
          map $upstream_status $is_whole { "" 0; default 1; }
          log_format request escape=json '["$request_method $request_uri $request_body"]';
          server {
            listen 127.0.0.1:\(port) ssl; ssl_certificate D/leaf.pem; ssl_certificate_key D/leaf.key;
            access_log D/requests request if=$is_whole;
            location / { proxy_pass http://unix:D/second; }
          }
          server { listen unix:D/second; access_log off; location / { return 200 $request_uri; } }
        }
        """
      try stage.scratch.write("nginx/nginx.conf", text.replacing("D/", with: directory + "/"))
      child = try Child(
        NginxReadsTheSameRequests.program,
        ["-p", directory, "-c", directory + "/nginx.conf", "-e", directory + "/errors"], environment: [:])
      let isUp = eventually(seconds: 20) {
        guard let descriptor = try? connectedSocket(port: port) else { return false }
        close(descriptor)
        return true
      }
      guard isUp, child.isRunning else {
        let errors = try? String(contentsOfFile: directory + "/errors", encoding: .utf8)
        throw TestFailure("nginx did not start: \(errors ?? "")")
      }
    }

    /// Method, target and body of each request so far, in the order of their ends.
    var requests: [String] {
      let lines = (try? String(contentsOfFile: log, encoding: .utf8))?.split(separator: "\n") ?? []
      return lines.compactMap { try? JSONDecoder().decode([String].self, from: Data($0.utf8)).first }
    }
  }

  @Test(.enabled(if: isInstalled, "there is no nginx here"))
  func `T16: nginx reads exactly the requests that bearerd accepts`() throws {
    let stage = try Stage()
    let nginx = try Nginx(stage)
    try stage.start()
    let context = try stage.attackContext(method: "POST", path: "/api/x")
    let refused = AttackTable.rows(at: context).compactMap { row -> NoRequestIsSmuggled.Row? in
      guard row.threat == 16, case .refused(let statuses, _) = row.expectation else { return nil }
      return .init(statuses, [], String(decoding: context.messages(of: row).request, as: UTF8.self))
    }
    #expect(refused.count > 90)
    let host = "localhost:\(try stage.daemon!.port())"
    let getLength = (NoRequestIsSmuggled.get + "\r\n").replacing("HOST", with: host).utf8.count
    var seen = 0
    for (number, row) in (refused + NoRequestIsSmuggled.accepted).enumerated() {
      let client = try stage.raw()
      try client.send(row.text.replacing("HOST", with: host).replacing("LENGTH", with: "\(getLength)"))
      client.shutdownSending()
      let text = String(decoding: client.rest().bytes, as: UTF8.self)
      // Without nginx's 100 Continue.
      let statuses = text.matches(of: #/HTTP/1\.1 (\d\d\d) /#).compactMap { Int($0.1) }.filter { $0 >= 200 }
      #expect(statuses == row.statuses, "\(row.testDescription)")
      // The message must not affect the next request.
      let next = try stage.raw()
      try next.send(stage.head("GET", "/api/next\(number)"))
      #expect(try next.response().body == "/base/next\(number)", "\(row.testDescription)")
      let sent = row.sent.map { $0.replacing("HOST", with: host) } + ["GET /base/next\(number) "]
      #expect(eventually { nginx.requests.count >= seen + sent.count }, "\(row.testDescription)")
      #expect(Array(nginx.requests.dropFirst(seen)) == sent, "\(row.testDescription)")
      seen = nginx.requests.count
    }
    stage.assertCanary(times: 0)
  }
}
