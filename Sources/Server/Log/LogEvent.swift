/// The event that a line of the log tells: one name for each `event`.
///
/// An event is one case here, whose raw value is the name in the line, and its row below; everything else that there is to say
/// of an event is read from the row: its level, and `docs/events.md`.
package enum LogEvent: String, CaseIterable, Sendable {
  case acceptFailed = "accept-failed"
  case audit
  case auditFailed = "audit-failed"
  case auditLost = "audit-lost"
  case auditWorks = "audit-works"
  case callerLimit = "caller-limit"
  case callersUnknown = "callers-unknown"
  case challengeUnmet = "challenge-unmet"
  case clockStepped = "clock-stepped"
  case commandNotTold = "command-not-told"
  case commandValueRejected = "command-value-rejected"
  case configuration
  case configurationReadable = "configuration-readable"
  case connectionLimit = "connection-limit"
  case control
  case credentialChanged = "credential-changed"
  case credentialDenied = "credential-denied"
  case credentialRebound = "credential-rebound"
  case credentialResumed = "credential-resumed"
  case credentialShort = "credential-short"
  case credentialSuspended = "credential-suspended"
  case credentialUnavailable = "credential-unavailable"
  case credentialUnusable = "credential-unusable"
  case descriptorLimit = "descriptor-limit"
  case listenFailed = "listen-failed"
  case listener
  case listening
  case logLinesDropped = "log-lines-dropped"
  case loggedIn = "logged-in"
  case loggedOut = "logged-out"
  case loginBegun = "login-begun"
  case loginCancelled = "login-cancelled"
  case loginFailed = "login-failed"
  case loginNotStored = "login-not-stored"
  case loginNotWiped = "login-not-wiped"
  case loginRequired = "login-required"
  case loopStalled = "loop-stalled"
  case loopStuck = "loop-stuck"
  case memoryNotLocked = "memory-not-locked"
  case noControlSocket = "no-control-socket"
  case pin
  case proxyNotUsed = "proxy-not-used"
  case rateLimited = "rate-limited"
  case ready
  case refusalsNotLogged = "refusals-not-logged"
  case reloadFailed = "reload-failed"
  case reloaded
  case request
  case revoked
  case secretsNotWatched = "secrets-not-watched"
  case socketNotUsed = "socket-not-used"
  case stopped
  case stopping
  case systemdCredentials = "systemd-credentials"
  case tokenFailed = "token-failed"
  case tokenNotRevoked = "token-not-revoked"
  case tokenRemark = "token-remark"
  case tokenRevoked = "token-revoked"
  case tokenStorm = "token-storm"
}

extension LogEvent {
  /// All that there is to say of an event.
  package var row: LogEventRow {
    switch self {
    case .acceptFailed:
      LogEventRow(
        .error, "listener detail",
        "The system refuses to accept a connection of this listener; bearerd tries again by itself.",
        todo: "If there are too many open files, raise `LimitNOFILE=` of the unit or lower `limits.connections`.")
    case .audit:
      LogEventRow(
        .notice, "state file n chain",
        "The audit file was opened or closed, or has grown by 10,000 records: its last record has this number and hash.",
        todo: "Keep these lines where the audit file is not: `bearerctl audit verify --head` wants their `chain`.")
    case .auditFailed:
      LogEventRow(
        .error, "file detail help",
        "The audit file cannot be written; records wait in memory, and it is tried again each second.",
        todo: "Make room, or repair what `detail` says; with `required: true` new requests get 503 until then.")
    case .auditLost:
      LogEventRow(
        .error, "file records detail",
        "Records did not get into the audit file before it was closed, and are lost.",
        todo: "See why the disk is full or does not answer; the log has a line for each of these requests.")
    case .auditWorks:
      LogEventRow(
        .notice, "file dropped",
        "The audit file can be written again; `dropped` records found no room meanwhile, and the file says so, too.")
    case .callerLimit:
      LogEventRow(
        .warning, "uid requests connections refused help",
        "One user has as many requests or connections as one may have, and further ones were refused.",
        todo: "See what that user runs, or raise the limit that `help` names.")
    case .callersUnknown:
      LogEventRow(
        .error, "detail help",
        "The kernel cannot be asked who opens a TCP connection, so every caller on a loopback address is refused.",
        todo: "Give bearerd the netlink socket that `detail` speaks of, or do what `help` says.")
    case .challengeUnmet:
      LogEventRow(
        .warning, "credential upstream detail",
        "The upstream asks for a scheme that this credential cannot give; told once.",
        todo: "Compare the credential's scheme and parameters with what `detail` says the upstream wants.")
    case .clockStepped:
      LogEventRow(
        .notice, "seconds detail",
        "The system's clock was set by so many seconds, as noticed at the next request.",
        todo: "If that was not meant, look at the time service of the machine.")
    case .commandNotTold:
      LogEventRow(
        .warning, "program verb detail",
        "A credential helper could not be told to keep or to erase its value.",
        todo: "Run the program by hand with that verb, and repair what `detail` says.")
    case .commandValueRejected:
      LogEventRow(
        .notice, "program detail",
        "An upstream rejected the value of a credential command, which is asked for another one.")
    case .configuration:
      LogEventRow(
        .warning, or: .error, "file line detail",
        "One finding in the configuration: an error if it cannot be used for that, else a warning.",
        todo: "Correct that line; `bearerctl check` shows it.")
    case .configurationReadable:
      LogEventRow(
        .notice, "detail help",
        "The configuration was read after all, too late for the reload that wanted it.",
        todo: "Reload again.")
    case .connectionLimit:
      LogEventRow(
        .warning, "connections help",
        "There are as many connections as there may be; new ones wait until some end.",
        todo: "See who holds them, or raise `limits.connections`.")
    case .control:
      LogEventRow(.notice, "address", "The control socket, which `bearerctl` talks to, is open here.")
    case .credentialChanged:
      LogEventRow(
        .notice, "credential credential_generation", "The credential has a new value, which goes out from now on.")
    case .credentialDenied:
      LogEventRow(
        .warning, "credential detail",
        "The keyring did not give out a credential that the rules had already admitted; nothing was sent.",
        todo: "Report it: the rules should have refused the request before.")
    case .credentialRebound:
      LogEventRow(
        .notice, "credential added removed",
        "A reload has changed where the credential may go, who may use it, or where its secret comes from.",
        todo: "See that `added` is what you meant.")
    case .credentialResumed:
      LogEventRow(
        .notice, "credential credential_generation upstream reason",
        "A suspended credential goes out again: it was accepted, has changed, or `bearerctl resume` asked for it.")
    case .credentialShort:
      LogEventRow(
        .warning, "credential detail",
        "A value of fewer than 8 bytes would be found in innocent text, and is not masked in answers.",
        todo: "Have a longer secret issued.")
    case .credentialSuspended:
      LogEventRow(
        .warning, "credential credential_generation upstream rejections seconds help",
        "The upstream has rejected the credential several times in a row; it is not sent there for so many seconds.",
        todo: "Put a valid secret in its place, which goes out at once, or `bearerctl resume` it.")
    case .credentialUnavailable:
      LogEventRow(
        .warning, "credential credential_generation detail",
        "The credential has no value, and requests that need it get 503.",
        todo: "Repair its source as `detail` says; it is read again once that has changed.")
    case .credentialUnusable:
      LogEventRow(
        .warning, "credential credential_generation detail",
        "The source of the credential has become unusable; the value from before goes out until further notice.",
        todo: "Repair its source as `detail` says; after a restart there would be no value.")
    case .descriptorLimit:
      LogEventRow(
        .notice, "connections wanted help",
        "There are file descriptors for fewer connections than `limits.connections` allows.",
        todo: "Raise `LimitNOFILE=` of the unit, or `ulimit -n`.")
    case .listenFailed:
      LogEventRow(
        .error, "detail",
        "A listener that a reload has added is bound, and the system does not let it listen.",
        todo: "Remove what `detail` says, and restart.")
    case .listener:
      LogEventRow(
        .warning, "listener detail help",
        "A listener serves, and its socket from systemd is not all that its configuration promises.",
        todo: "Do what `help` says.")
    case .listening:
      LogEventRow(
        .notice, "listener held_by address",
        "A listener serves at this address; `held_by=systemd` if systemd has bound the socket.")
    case .logLinesDropped:
      LogEventRow(
        .warning, "count",
        "So many lines found no room, because what reads the log does not keep up.",
        todo: "See what reads the log; the metrics have counted every request.")
    case .loggedIn:
      LogEventRow(
        .notice, "credential detail", "A login has ended well: what it brought is stored and goes out from now on.")
    case .loggedOut:
      LogEventRow(
        .notice, "credential requests connections cookies",
        "`bearerctl logout` has ended so many requests, idle connections and cookies that used the credential.")
    case .loginBegun:
      LogEventRow(.notice, "credential", "`bearerctl login` has begun.")
    case .loginCancelled:
      LogEventRow(
        .notice, "credential detail", "A login has ended without a result, as `bearerctl login` was interrupted.")
    case .loginFailed:
      LogEventRow(
        .notice, "credential detail", "A login has ended without a token.",
        todo: "Remove what `detail` says, and `bearerctl login` again.")
    case .loginNotStored:
      LogEventRow(
        .error, "credential detail",
        "What the authorization server has said of a login could not be written down.",
        todo: "Make the state directory writable; bearerd tries again by itself, and a new token is not used before.")
    case .loginNotWiped:
      LogEventRow(
        .error, "credential detail",
        "A logout could not take a login out of the state directory.",
        todo: "Make the state directory writable, and `bearerctl logout` again.")
    case .loginRequired:
      LogEventRow(
        .error, "credential detail",
        "There is no token any more, and none comes before a person acts; requests get 503.",
        todo: "`bearerctl login`, or another refresh token or password in its file.")
    case .loopStalled:
      LogEventRow(
        .warning,
        "worker milliseconds cpu-milliseconds steps longest-step longest-step-milliseconds omitted",
        "One turn of a worker's loop took 100 ms or more, and every connection of that worker waited.",
        todo: "See whether the machine is short of processors, or a slow file system is in use; else report it.")
    case .loopStuck:
      LogEventRow(
        .error, "worker step milliseconds detail",
        "A worker's loop has been at one step for so long that systemd is no longer told that all is well.",
        todo: "Let systemd restart it, and report the step.")
    case .memoryNotLocked:
      LogEventRow(
        .warning, "detail",
        "The system allows too little locked memory, so that secrets could reach the swap.",
        todo: "Raise `LimitMEMLOCK=` of the unit, or `ulimit -l`.")
    case .noControlSocket:
      LogEventRow(
        .warning, "path detail help",
        "There is no control socket, so that `bearerctl` cannot reach this daemon; SIGHUP reloads all the same.",
        todo: "Do what `help` says.")
    case .pin:
      LogEventRow(
        .warning, "upstream detail",
        "The pins of an upstream do not fit its certificates and are only reported, or there is advice on them.",
        todo: "Find out why the keys have changed; `bearerctl pin` shows those that could be pinned.")
    case .proxyNotUsed:
      LogEventRow(
        .notice, "names help",
        "The environment names a proxy in these variables, and bearerd connects to upstreams by itself.",
        todo: "Let bearerd reach each upstream directly, or take the variables out of its environment.")
    case .rateLimited:
      LogEventRow(
        .warning, "service rule uid client rate refused help",
        "One caller has asked more often than the service's or the rule's `rate` allows; told once for many.",
        todo: "See what that caller runs, or raise `rate`.")
    case .ready:
      LogEventRow(.notice, "version configuration", "The daemon has started and serves.")
    case .refusalsNotLogged:
      LogEventRow(
        .warning, "count detail",
        "So many refused requests of users who are not admitted, or over a network without a client token, have no line.",
        todo: "See who asks; the metrics have counted all of them.")
    case .reloadFailed:
      LogEventRow(
        .error, "detail still",
        "A reload has failed; the configuration from before stays in use.",
        todo: "Correct what the lines before this one, or `detail`, say, and reload again.")
    case .reloaded:
      LogEventRow(
        .notice, "generation", "The configuration was read anew and is in use, as how many-th of this process.")
    case .request:
      LogEventRow(
        .info, or: .warning,
        """
        service rule upstream credential credential_generation uid unit client method path status refused up down ms \
        generation removed repaired dropped preflight credential_rejected redacted withheld retried reused renewed \
        aborted reason detail help
        """,
        "One request and its answer, as [the log](log.md) says field by field; a warning if it was refused or cut.")
    case .revoked:
      LogEventRow(
        .notice, "exchanges",
        "A reload no longer allows so many requests that are under way; they are cut after `limits.revoked_grace`.")
    case .secretsNotWatched:
      LogEventRow(
        .warning, "directory detail",
        "Changes of secrets, or of those in this directory, are not noticed by themselves.",
        todo: "Reload after each change, or raise `fs.inotify.max_user_watches` or `max_user_instances`.")
    case .socketNotUsed:
      LogEventRow(
        .warning, "name address detail help",
        "systemd hands over a socket that no listener takes; it is closed.",
        todo: "Write `address: systemd:NAME` in a listener, or take it out of the socket unit; then restart.")
    case .stopped:
      LogEventRow(.notice, "cut", "The daemon ends, and cuts so many connections that were still busy.")
    case .stopping:
      LogEventRow(
        .notice, "connections", "The daemon was told to end; so many connections may finish what they are at.")
    case .systemdCredentials:
      LogEventRow(
        .notice, "credentials detail",
        "The reload read these credentials again from systemd, which may still have the values of the unit's start.",
        todo: "Restart bearerd if they have changed.")
    case .tokenFailed:
      LogEventRow(
        .warning, "credential detail",
        "A token endpoint was asked and there is no token of use; it is asked again by itself.",
        todo: "Remove what `detail` says; `bearerctl status` says when it is asked again.")
    case .tokenNotRevoked:
      LogEventRow(
        .warning, "credential token detail",
        "After a logout the server was not, or could not be, told to revoke this token.",
        todo: "Revoke it at the server by other means, or let it expire.")
    case .tokenRemark:
      LogEventRow(
        .notice, "credential detail",
        "A token is good, and something about the answer that brought it is odd; told once.",
        todo: "Compare `scope` and the clocks with what `detail` says.")
    case .tokenRevoked:
      LogEventRow(.notice, "credential token", "After a logout the server has revoked this token.")
    case .tokenStorm:
      LogEventRow(
        .warning, "credential detail",
        "Token after token was asked for, and still one is wanted: the next one has to wait.",
        todo: "See why the upstream rejects new tokens: mostly a scope or an audience that is not the API's.")
    }
  }
}

/// One row of the table of events.
package struct LogEventRow: Sendable {
  package let level: EventLog.Level
  /// The level that it has at other times; nil: it has the one.
  package let otherLevel: EventLog.Level?
  /// Names of the fields that a line may have behind `event`, in that order, with blanks between.
  package let fields: StaticString
  /// The meaning, in one sentence. Markdown's backticks and links are the only markup, here and in `todo`.
  package let what: StaticString
  /// Advice for an operator; nil: nothing is to be done.
  package let todo: StaticString?

  init(
    _ level: EventLog.Level, or otherLevel: EventLog.Level? = nil, _ fields: StaticString, _ what: StaticString,
    todo: StaticString? = nil
  ) {
    self.level = level
    self.otherLevel = otherLevel
    self.fields = fields
    self.what = what
    self.todo = todo
  }
}
