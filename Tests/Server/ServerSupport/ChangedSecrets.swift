import Foundation
import Log
import TestSupport

/// A connection over which one request after the other goes.
package final class Caller {
  package let client: LocalClient
  package let port: UInt16

  package init(_ stage: Stage) throws {
    client = try stage.client()
    port = try stage.daemon!.port()
  }

  package func get(_ path: String = "/api/x") throws -> LocalClient.Response {
    try client.send("GET \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
    return try client.response()
  }
}

extension Stage {
  /// The last value that the upstream got.
  package var lastToken: String? {
    recorded.components(separatedBy: "Authorization: Bearer ").last?.components(separatedBy: "\r\n").first
  }

  /// Waits until a credential has its how many-th value.
  package func changed(to generation: Int, of credential: String = "canary") -> Bool {
    log.wait(for: .credentialChanged, ["credential": "\(credential)", "credential_generation": "\(generation)"])
  }
}
