import Foundation
import Log
import StatusModel
import TestSupport

/// A connection that sends one request after another.
package final class PersistentClient {
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
  /// The bearer token of the last request at the upstream.
  package var lastToken: String? {
    recorded.components(separatedBy: "Authorization: Bearer ").last?.components(separatedBy: "\r\n").first
  }

  /// Waits until a credential has the given secret version.
  package func waitForSecret(version generation: Int, of credential: String = "canary") -> Bool {
    log.wait(for: .credentialChanged, ["credential": "\(credential)", "credential_generation": "\(generation)"])
  }
}
