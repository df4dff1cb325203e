import TestServer

extension Stage {
  /// Returns a configuration with two credentials on one host, at `/api/` and `/second/`.
  package func withSecondCredential() -> String {
    configuration(
      services: """
          second:
            upstream: \(origin)/base/
            ca_file: ca.pem
            pins: [\(leaf.pin), \(backup.pin)]
            credential: second
        """
    ).replacing(
      "services:\n",
      with: """
          second:
            origins: ["\(origin)"]
            bearer: { file: second.token }
        services:

        """)
  }
}
