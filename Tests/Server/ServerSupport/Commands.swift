import Foundation
import TestServer
package import TestSupport

extension Stage {
  /// Returns a command's output with names for the directory, the user, the upstream's port, the pins, and the times and
  /// chain values of audit records.
  package func plain(_ text: String) -> String {
    let values = [leaf.pin: "sha256/LEAF", backup.pin: "sha256/BACKUP", "localhost:\(upstream.port)": "localhost:PORT"]
    return scratch.plain(text, values).replacing("uid \(getuid())", with: "uid UID")
      .replacing(/(chain=|previous=|head   |after )[A-Za-z0-9_-]{43}/) { "\($0.1)CHAIN" }
      .replacing(/[0-9-]{10}T[0-9:.]{12}Z/, with: "TIME")
  }

  /// Sends a request from another process, and returns the whole response as output.
  /// - Parameters:
  ///   - wrapper: the command that starts the process, for example as another user.
  ///   - field: an additional field line.
  package func sendRequest(
    as wrapper: [String], unix path: String? = nil, target: String = "/api/x", field: String = ""
  ) throws -> CommandResult {
    let authority = path == nil ? "localhost:\(try daemon!.port())" : "localhost"
    let connect =
      path.map { "IO::Socket::UNIX->new(Peer => \"\($0)\")" } ?? "IO::Socket::INET->new(\"\(authority)\")"
    let script = """
      my $s = \(connect) or do { print "no connection: $!"; exit 3 };
      print $s "GET \(target) HTTP/1.1\\r\\nHost: \(authority)\\r\\nConnection: close\(field.isEmpty ? "" : "\\r\\n" + field)\\r\\n\\r\\n";
      $s->flush; local $/; print scalar <$s>;
      """
    return try run(wrapper + ["perl", "-MIO::Socket::INET", "-MIO::Socket::UNIX", "-e", script])
  }

  package static func user(_ uid: Int) -> [String] {
    ["setpriv", "--reuid=\(uid)", "--regid=\(uid)", "--clear-groups"]
  }
}
