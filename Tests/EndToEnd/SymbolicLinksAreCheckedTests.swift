import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A user who can replace a directory or link on the path to a file can choose the file's content. Therefore bearerd
/// checks every directory and link at each read.
@Suite(.waits) struct SymbolicLinksAreChecked {
  private static let refusal = "urn:bearerd:error:credential-unavailable"

  private func check(_ stage: Stage) throws -> (status: Int32, output: String, errors: String) {
    let result = try run([RunningDaemon.binary("bearerctl"), "check", stage.scratch.path + "/bearerd.yaml", "--strict"])
    return (result.status, result.output, result.errors)
  }

  /// A configuration with two credentials. One secret is a link to a file in a directory that others can write.
  private func prepare(_ stage: Stage) throws -> String {
    let path = stage.scratch.path
    try stage.scratch.write("shared/token", "SHARED-secret")
    #expect(chmod(path + "/shared", 0o777) == 0)
    #expect(symlink(path + "/shared/token", path + "/link.token") == 0)
    return stage.configuration(
      credential: "bearer: { file: link.token }",
      services: "  other: { upstream: \(stage.origin)/, ca_file: ca.pem, credential: other }\n"
    ).replacing(
      "\nservices:\n",
      with: "\n  other: { origins: [\"\(stage.origin)\"], bearer: { file: canary.token } }\nservices:\n")
  }

  @Test
  func `T61: a link through a directory of others brings no secret and no new value, and check names the directory`()
    throws
  {
    let stage = try Stage()
    try stage.start(try prepare(stage))
    let shared = stage.scratch.path + "/shared"
    #expect(try stage.get().text.contains(Self.refusal))
    #expect(try stage.get("/other/x").status == 200)
    let link = "\(stage.scratch.path)/link.token"
    #expect(stage.log.contains(.credentialUnavailable, ["credential": "canary", "detail": .naming(shared, link)]))
    let result = try check(stage)
    #expect(result.status == 1)
    let text = stage.plain(result.output)
    #expect(text == (try golden("check-link.txt", for: text)))
    // The directory is watched, so the next request after the change of its mode has the secret.
    #expect(chmod(shared, 0o755) == 0)
    #expect(try stage.get().status == 200)
    #expect(try check(stage).status == 0)
    stage.assertCanary(times: 1)
    stage.assertCanary(times: 1, secret: "SHARED-secret")
    // Other users let the link lead to the secret of the other credential.
    let path = stage.scratch.path
    #expect(mkdir(path + "/theirs", 0o700) == 0 && chmod(path + "/theirs", 0o777) == 0)
    #expect(symlink(path + "/canary.token", path + "/theirs/token") == 0)
    #expect(symlink(path + "/theirs/token", path + "/link.new") == 0)
    #expect(rename(path + "/link.new", path + "/link.token") == 0)
    for _ in 0..<3 { #expect(try stage.get().status == 200) }
    #expect(
      stage.log.wait(for: .credentialUnusable, ["credential": "canary", "detail": .naming("\(path)/theirs", "0777")]))
    stage.assertCanary(times: 1)
    stage.assertCanary(times: 4, secret: "SHARED-secret")
  }

  @Test(arguments: ["ca_file", "configuration"])
  func `T61: the start fails if others can replace the target of a link to the configuration or ca_file`(what: String)
    throws
  {
    let stage = try Stage()
    let path = stage.scratch.path
    #expect(mkdir(path + "/theirs", 0o700) == 0 && chmod(path + "/theirs", 0o777) == 0)
    if what == "ca_file" {
      #expect(rename(path + "/ca.pem", path + "/theirs/ca.pem") == 0)
      #expect(symlink("theirs/ca.pem", path + "/ca.pem") == 0)
      let result = try stage.fail(stage.configuration())
      #expect(result.status == 2)
      let errors = stage.plain(result.errors)
      #expect(errors == (try golden("start-ca-file-link.txt", for: errors)))
    } else {
      try stage.scratch.write("theirs/real.yaml", stage.configuration(), mode: 0o644)
      #expect(symlink("theirs/real.yaml", path + "/bearerd.yaml") == 0)
      let result = try run([RunningDaemon.binary("bearerd"), "--config", path + "/bearerd.yaml"])
      #expect(result.status == 2)
      let text = stage.plain("\(result.errors)\n\(try check(stage).output)")
      #expect(text == (try golden("start-configuration-link.txt", for: text)))
    }
  }

  @Test(.enabled(if: isRoot, "makes another user's directory"))
  func `T61: a user who owns the directory of a secret's link target cannot choose another secret`() throws {
    let stage = try Stage()
    let path = stage.scratch.path
    let text = try prepare(stage)
    #expect(chmod(path + "/shared", 0o755) == 0 && chown(path + "/shared", 65_534, 65_534) == 0)
    try stage.start(text)
    #expect(try stage.get().text.contains(Self.refusal))
    #expect(rename(path + "/shared/token", path + "/shared/old") == 0)
    #expect(symlink(path + "/canary.token", path + "/shared/token") == 0)
    #expect(lchown(path + "/shared/token", 65_534, 65_534) == 0)
    #expect(try stage.get().text.contains(Self.refusal))
    let output = stage.plain(try check(stage).output)
    #expect(output == (try golden("check-link-of-others.txt", for: output)))
    #expect(chown(path + "/shared", 0, 0) == 0)
    #expect(try stage.get().text.contains(Self.refusal), "the link is theirs as well")
    stage.assertCanary(times: 0)
  }

  @Test(.enabled(if: isRoot, "mounts are for root"))
  func `T61: a directory with mode 0777 on a read-only mount is accepted, and check gives the reason`() throws {
    let stage = try Stage()
    let volume = stage.scratch.path + "/volume"
    #expect(mkdir(volume, 0o755) == 0)
    try #require(mount("none", volume, "tmpfs", 0, "mode=0777") == 0)
    defer { umount2(volume, Int32(MNT_DETACH)) }
    try stage.scratch.write("volume/token", stage.canary)
    let text = stage.configuration(credential: "bearer: { file: volume/token }")
    let daemon = try stage.start(text)
    #expect(try stage.get().text.contains(Self.refusal))
    #expect(daemon.stop() == 0)
    try #require(mount("none", volume, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "mode=0777") == 0)
    try stage.start(text)
    #expect(try stage.get().status == 200)
    let result = try check(stage)
    #expect(result.status == 0)
    let output = stage.plain(result.output)
    #expect(output == (try golden("check-read-only-mount.txt", for: output)))
    _ = stage.daemon!.stop()
    stage.assertCanary(times: 1)
  }
}
