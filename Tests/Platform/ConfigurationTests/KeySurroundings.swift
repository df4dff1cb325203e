/// A configuration around each key. A test puts the key in place of `@`.
enum KeySurroundings {
  /// Returns the configuration around a key. `nil` if the table has none.
  static func file(_ section: String, _ key: String) -> String? {
    let file = files["\(section).\(key)"] ?? files[section]
    let pins = "pins: [sha256/BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k=]"
    return switch key {
    case "backup_pin": file?.replacing("@", with: "\(pins), @")
    case "pin_mode", "pins_expire": file?.replacing("@", with: "\(pins), backup_pin: none, @")
    default: file
    }
  }

  /// A machine with all files that the examples of keys name.
  static var machine: Machine {
    var machine = Machine()
    for program in ["git", "pass"] { machine.files["/usr/bin/\(program)"] = (0, 0o755, true) }
    machine.contents["/etc/bearerd/robot.pem"] = machine.contents["/etc/bearerd/ca.pem"]
    return machine
  }

  /// The file of each section, and of each key that needs other keys or conflicts with a key in the file of its section.
  private static let files = [
    "top": "{ \(service), @ }",
    "limits": "{ limits: { @ }, \(service) }",
    "timeouts": "{ timeouts: { @ }, \(service) }",
    "audit": "{ audit: { file: /var/log/b/audit.log, @ }, \(service) }",
    "reports": "{ reports: { to: 'https://r.test/pins', @ }, \(service) }",
    "reports.to": "{ reports: { @ }, \(service) }",
    "service": "{ services: { s: { upstream: 'https://s.test/', @ } } }",
    "pinPolicy": "{ pin_policies: { s.test: { @ } }, \(service) }",
    "pinPolicy.exclude": pinPolicy, "pinPolicy.include_subdomains": pinPolicy, "pinPolicy.expires": pinPolicy,
    "retry": "{ services: { s: { upstream: 'https://s.test/', retry: { @ } } } }",
    "revocation": "{ services: { s: { upstream: 'https://s.test/', revocation: { @ } } } }",
    "rule": "{ services: { s: { upstream: 'https://s.test/', rules: [{ match: /a, @ }] } } }",
    "rule.case": "{ services: { s: { upstream: 'https://s.test/', rules: [{ match: /a, deny: true, @ }] } } }",
    "rule.message": "{ services: { s: { upstream: 'https://s.test/', rules: [{ match: /a, deny: true, @ }] } } }",
    "credential": credential("bearer: { file: s }, @"),
    "suspend": credential("bearer: { file: s }, suspend: { @ }"),
    "keepalive": "{ limits: { tcp_keepalive: { @ } }, \(service) }",
    "source": credential("bearer: { command: [/usr/bin/git], @ }"),
    "oauth1": credential("oauth1: { consumer_key: k, consumer_secret: { file: s }, @ }"),
    "oauth1.request_token_url": threeLegs(without: "request_token_url"),
    "oauth1.authorize_url": threeLegs(without: "authorize_url"),
    "oauth1.access_token_url": threeLegs(without: "access_token_url"),
    "oauth1.redirect_uri": threeLegs(), "oauth1.login_timeout": threeLegs(), "oauth1.store": threeLegs(),
    "oauth1.timeout": threeLegs(), "oauth1.pins": threeLegs(), "oauth1.backup_pin": threeLegs(),
    "oauth1.pin_mode": threeLegs(), "oauth1.pins_expire": threeLegs(), "oauth1.ca_file": threeLegs(),
    "oauth1.revocation": threeLegs(), "oauth1.allow_addresses": threeLegs(),
    "oauth2": credential(
      "oauth2: { token_url: 'https://t.test/', grant: client_credentials, client_id: i, client_secret: { file: s }, @ }"
    ),
    "login": credential("login: { url: 'https://c.test/l', json: { p: { file: s } }, token: t, @ }"),
    "digest": credential("digest: { user: u, password: { file: s }, @ }"),
    "registry": credential("registry: { realm: 'https://c.test/t', @ }"),
    "credential.replay_buffer": credential("bearer: { file: s }, mode: challenge, @"),
    "credential.realm": credential("bearer: { file: s }, mode: challenge, @"),
    "source.store": credential("basic: { password: { command: [/usr/bin/git], format: git-credential, @ } }"),
    "oauth2.login_timeout": browser, "oauth2.redirect_uri": browser,
    "audit.file": "{ audit: { @ }, \(service) }",
    "listener": "{ listeners: { main: { address: 'localhost:7070', @ } }, \(service) }",
    "listener.address": "{ listeners: { main: { @ } }, \(service) }",
    "listener.mode": "{ listeners: { main: { address: 'unix:/run/b.sock', @ } }, \(service) }",
    "browsers": "{ listeners: { main: { address: 'localhost:7070', browsers: { @ } } }, \(service) }",
    "credential.origins": "{ credentials: { c: { @, bearer: { file: s } } }, \(service) }",
    "credential.headers": credential("@"),
    "source.file": credential("bearer: { @ }"), "source.systemd": credential("bearer: { @ }"),
    "source.env": credential("bearer: { @ }"),
    "source.token_of":
      "{ credentials: { iam: { origins: ['https://c.test'], oauth2: { token_url: 'https://t.test/', grant: client_credentials, client_id: i, client_secret: { file: s } } }, c: { origins: ['https://c.test'], login: { url: 'https://c.test/l', form: { t: { @ } }, token: t } } }, services: { s: { upstream: 'https://c.test/', credential: c } } }",
    "source.command": credential("bearer: { @ }"),
    "environment.pass": credential("bearer: { command: [/usr/bin/git], environment: { @ } }"),
    "source.url": gitHelper, "source.username": gitHelper,
    "source.server": credential(
      "basic: { password: { command: [/usr/bin/git], format: docker-credential, @ } }"),
    "basic.password": credential("basic: { user: u, @ }"),
    "header.name": credential("headers: [{ @, value: { file: s } }]"),
    "header.prefix": credential("headers: [{ name: X-Key, value: { file: s }, @ }]"),
    "oauth2.token_url": credential(
      "oauth2: { @, grant: client_credentials, client_id: i, client_secret: { file: s } }"),
    "oauth2.grant": credential("oauth2: { token_url: 'https://t.test/', client_id: i, client_secret: { file: s }, @ }"),
    "oauth2.client_id": credential("oauth2: { token_url: 'https://t.test/', grant: client_credentials, @ }"),
    "oauth2.grant_type": credential("oauth2: { token_url: 'https://t.test/', grant: custom, @ }"),
    "oauth2.key_id": assertion, "oauth2.assertion_audience": assertion, "oauth2.issuer": assertion,
    "oauth2.subject": assertion,
    "oauth2.store": credential(
      "oauth2: { token_url: 'https://t.test/', grant: refresh_token, client_id: i, client_secret: { file: s }, refresh_token: { file: s }, @ }"
    ),
    "oauth2.actor_token_type": exchange("subject_token_type: 'urn:t', actor_token: { file: s }, @"),
    "oauth2.subject_token_type": exchange("@"),
    "oauth2.requested_token_type": exchange("subject_token_type: 'urn:t', @"),
    "oauth2.device_authorization_url": credential(
      "oauth2: { token_url: 'https://t.test/', grant: device_code, client_id: i, @ }"),
    "oauth2.authorization_url": credential(
      "oauth2: { token_url: 'https://t.test/', grant: authorization_code, client_id: i, @ }"),
    "login.url": credential("login: { @, json: { p: { file: s } }, token: t }"),
    "login.form": credential("login: { url: 'https://c.test/l', @, token: t }"),
    "login.json": credential("login: { url: 'https://c.test/l', @, token: t }"),
    "login.token": credential("login: { url: 'https://c.test/l', json: { p: { file: s } }, @ }"),
    "login.cookie": credential("login: { url: 'https://c.test/l', json: { p: { file: s } }, @ }"),
    "loginHeader": credential(
      "login: { url: 'https://c.test/l', json: { p: { file: s } }, token: t, header: { name: X-Session, @ } }"),
    "loginHeader.name": credential(
      "login: { url: 'https://c.test/l', json: { p: { file: s } }, token: t, header: { @ } }"),
    "refreshOn.status": expired("@"), "refreshOn.field": expired("status: 403, value: v, @"),
    "refreshOn.value": expired("status: 403, field: f, @"),
    "registry.realm": credential("registry: { @ }"),
    "query.name": credential("query: { @, value: { file: s } }"),
    "clientCertificate.certificate": credential("client_certificate: { @, private_key: { file: s } }"),
    "service.upstream": "{ services: { s: { @ } } }",
    "rule.match": "{ services: { s: { upstream: 'https://s.test/', rules: [{ @ }] } } }",
  ]

  private static let service = "services: { s: { upstream: 'https://s.test/' } }"

  private static let pinPolicy =
    "{ pin_policies: { s.test: { pins: [sha256/BuP9j9opu2CrWVV95h7bCuzbIxE0vjDnW0Vfjht5L6k=], backup_pin: none, @ } }, \(service) }"

  private static let gitHelper = credential(
    "basic: { password: { command: [/usr/bin/git], format: git-credential, @ } }")

  private static func exchange(_ keys: String) -> String {
    credential(
      "oauth2: { token_url: 'https://t.test/', grant: token_exchange, client_id: i, client_secret: { file: s }, subject_token: { file: s }, \(keys) }"
    )
  }

  /// A login with OAuth 1.0.
  private static func threeLegs(without key: String = "") -> String {
    let urls = ["request_token_url", "authorize_url", "access_token_url"].filter { $0 != key }
    return credential(
      "oauth1: { consumer_key: k, consumer_secret: { file: s }, \(urls.map { "\($0): 'https://c.test/\($0)'" }.joined(separator: ", ")), @ }"
    )
  }

  private static let assertion = credential(
    "oauth2: { token_url: 'https://t.test/', grant: jwt_bearer, client_id: i, private_key: { file: s }, @ }")

  private static func expired(_ keys: String) -> String {
    credential(
      "login: { url: 'https://c.test/l', json: { p: { file: s } }, token: t, refresh_on: [{ \(keys) }] }")
  }

  private static let browser = credential(
    "oauth2: { token_url: 'https://t.test/', grant: authorization_code, client_id: i, authorization_url: 'https://t.test/a', @ }"
  )

  private static func credential(_ scheme: String) -> String {
    "{ credentials: { c: { origins: ['https://c.test'], \(scheme) } }, services: { s: { upstream: 'https://c.test/', credential: c } } }"
  }
}
