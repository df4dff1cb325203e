internal import Console

func demoConfiguration(port: UInt16, uid: UInt32, upstream: UInt16, impostor: UInt16, pins: [String]) -> String {
  """
  listeners:
    main:
  \(commented("    address: localhost:\(port)", port == 0 ? "0: any free port" : nil))
  \(commented("    allow_users: [\(uid)]", "you: the kernel names the sender"))

  credentials:
    demo:                            # may be sent only to these two servers
      origins: [https://localhost:\(upstream), https://localhost:\(impostor)]
      bearer: { file: demo.token }

  services:
    demo:                            # http://localhost/demo/…
  \(verifiedUpstream("https://localhost:\(upstream)/", pins: pins, credential: "demo"))
      rules:
        - { match: "/hello/**", methods: [GET, POST] }

    impostor:                        # a server with another key
  \(verifiedUpstream("https://localhost:\(impostor)/", pins: pins, credential: "demo"))
      rules:
        - { match: "/**" }

  control: control.sock

  """
}

/// The lines of a service that say how its upstream is verified, and which credential it gets.
func verifiedUpstream(_ url: String, pins: [String], credential: String) -> String {
  """
      upstream: \(url)
      ca_file: ca.pem
      pins:
        - \(pins[0])
        - \(pins[1])  # backup
      credential: \(credential)
  """
}

private func commented(_ line: String, _ comment: String?) -> String {
  comment.map { "\(line.padded(to: 33))# \($0)" } ?? line
}
