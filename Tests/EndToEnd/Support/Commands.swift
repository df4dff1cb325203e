import Foundation
import ServerSupport
import TestSupport

extension Stage {
  /// Sends a request from another process, and returns the whole response as output.
  /// - Parameters:
  ///   - wrapper: the command that starts the process, for example as another user.
  ///   - field: an additional field line.
  func sendRequest(
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

  static func user(_ uid: Int) -> [String] {
    ["setpriv", "--reuid=\(uid)", "--regid=\(uid)", "--clear-groups"]
  }
}
