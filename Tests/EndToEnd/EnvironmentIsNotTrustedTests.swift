import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// The environment of the daemon changes neither trust nor routing.
@Suite(.waits) struct EnvironmentIsNotTrusted {
  @Test func `T30: the environment changes no trust, writes no TLS keys to a file, and sets no proxy`() throws {
    let stage = try Stage()
    var options = Certificate.Options()
    options.isCA = true
    try stage.scratch.write("other-ca.pem", try Certificate(options).pem)
    let path = stage.scratch.path
    try stage.scratch.write(
      "openssl.cnf",
      """
      openssl_conf = init
      [init]
      ssl_conf = ssl
      [ssl]
      system_default = default
      [default]
      MinProtocol = TLSv1
      VerifyMode = None
      CipherString = ALL:@SECLEVEL=0
      """)
    // The upstream's authority is only in the environment, so it is not trusted.
    let configuration = stage.configuration().replacing("ca_file: ca.pem", with: "ca_file: other-ca.pem")
    let dead = "http://user:hidden@127.0.0.1:1"
    try stage.start(
      configuration,
      environment: [
        "SSL_CERT_FILE": path + "/ca.pem", "SSL_CERT_DIR": path, "OPENSSL_CONF": path + "/openssl.cnf",
        "SSLKEYLOGFILE": path + "/keys.log", "HTTPS_PROXY": dead, "https_proxy": dead, "ALL_PROXY": dead,
        "no_proxy": "x",
      ])
    // The log names the variables that set a proxy, without their values.
    #expect(
      stage.log.wait(for: .proxyNotUsed, ["names": "ALL_PROXY HTTPS_PROXY https_proxy", "help": .present]))
    #expect(stage.log.lines(of: .proxyNotUsed).count == 1 && stage.log.hides("hidden"))
    #expect(try stage.get().text.contains("certificate-invalid"))
    #expect(stage.upstream.records.allSatisfy { $0.bytes.isEmpty })
    // With the authority in the configuration, the request is served, without the proxy in the environment.
    try stage.reload(stage.configuration())
    #expect(try stage.get().status == 200)
    // The environment does not replace the system's trust store, either.
    try stage.reload(configuration.replacing("    ca_file: other-ca.pem\n", with: ""))
    #expect(try stage.get().status >= 500)
    #expect(!FileManager.default.fileExists(atPath: path + "/keys.log"))
    stage.assertCanary(times: 1)
  }
}
