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
        "The system could not accept a connection of this listener. bearerd tries again by itself.",
        todo: "If `detail` says too many open files, raise `LimitNOFILE=` of the unit or lower `limits.connections`.")
    case .audit:
      LogEventRow(
        .notice, "state file n chain",
        "The audit file was opened, closed or has grown by 10,000 records. `n` and `chain` are from its last record.",
        todo: "Store these lines away from the audit file: `bearerctl audit verify --head` needs their `chain`.")
    case .auditFailed:
      LogEventRow(
        .error, "file detail help",
        "The audit file cannot be written. Records wait in memory, and bearerd tries again each second.",
        todo:
          "Free disk space, or solve the problem in `detail`. With `required: true`, new requests get 503 until then.")
    case .auditLost:
      LogEventRow(
        .error, "file records detail",
        "Records could not be written before the audit file was closed, and are lost.",
        todo: "Find out why the disk is full or does not respond. The log still has a line for each of these requests.")
    case .auditWorks:
      LogEventRow(
        .notice, "file dropped",
        "The audit file can be written again. `dropped` records were lost in between. The file also says so.")
    case .callerLimit:
      LogEventRow(
        .warning, "uid requests connections refused help",
        "One user has reached the limit of requests or connections per user, and bearerd refused further ones.",
        todo: "Check what this user runs, or raise the limit that `help` names.")
    case .callersUnknown:
      LogEventRow(
        .error, "detail help",
        "bearerd cannot ask the kernel who opens a TCP connection, and refuses every caller on a loopback address.",
        todo: "Allow bearerd the netlink socket that `detail` names, or do what `help` says.")
    case .challengeUnmet:
      LogEventRow(
        .warning, "credential upstream detail",
        "The upstream asks for an authentication scheme that this credential does not support. Logged once.",
        todo: "Compare the credential's scheme and parameters with `detail`.")
    case .clockStepped:
      LogEventRow(
        .notice, "seconds detail",
        "The system's clock was changed by `seconds` seconds. bearerd noticed this at the next request.",
        todo: "If you did not change the clock, check the machine's time service.")
    case .commandNotTold:
      LogEventRow(
        .warning, "program verb detail",
        "bearerd could not tell a credential helper to keep or to erase its value.",
        todo: "Run the program by hand with `verb`, and solve the problem in `detail`.")
    case .commandValueRejected:
      LogEventRow(
        .notice, "program detail",
        "An upstream rejected the value that a credential command printed. bearerd runs the command again.")
    case .configuration:
      LogEventRow(
        .warning, or: .error, "file line detail",
        "A problem in the configuration. It is an error if the configuration cannot be used, and otherwise a warning.",
        todo: "Correct this line. `bearerctl check` shows it.")
    case .configurationReadable:
      LogEventRow(
        .notice, "detail help",
        "The configuration could be read, but too late for the reload that needed it.",
        todo: "Reload again.")
    case .connectionLimit:
      LogEventRow(
        .warning, "connections help",
        "The maximum number of connections is open. New connections wait until others end.",
        todo: "Find out which programs keep them open, or raise `limits.connections`.")
    case .control:
      LogEventRow(.notice, "address", "The control socket, which `bearerctl` connects to, is open at `address`.")
    case .credentialChanged:
      LogEventRow(
        .notice, "credential credential_generation", "The credential has a new value, which bearerd now uses.")
    case .credentialDenied:
      LogEventRow(
        .warning, "credential detail",
        "The keyring refused a credential that the rules had already allowed. Nothing was sent.",
        todo: "Report this as a bug: the rules should have refused the request before.")
    case .credentialRebound:
      LogEventRow(
        .notice, "credential added removed",
        "A reload has changed where the credential may go, who may use it, or where its secret comes from.",
        todo: "Check that `added` is what you intended.")
    case .credentialResumed:
      LogEventRow(
        .notice, "credential credential_generation upstream reason",
        "bearerd sends a suspended credential again. It was accepted, it has changed, or you ran `bearerctl resume`.")
    case .credentialShort:
      LogEventRow(
        .warning, "credential detail",
        "A value of fewer than 8 bytes also appears in ordinary text. bearerd does not mask it in responses.",
        todo: "Get a longer secret from the provider.")
    case .credentialSuspended:
      LogEventRow(
        .warning, "credential credential_generation upstream rejections seconds help",
        "The upstream rejected the credential several times in a row. bearerd does not send it there for `seconds` seconds.",
        todo: "Write a valid secret into its source, which bearerd uses at once. Or run `bearerctl resume`.")
    case .credentialUnavailable:
      LogEventRow(
        .warning, "credential credential_generation detail",
        "The credential has no value. Requests that need it get 503.",
        todo: "Repair its source as `detail` says. bearerd reads the source again when it changes.")
    case .credentialUnusable:
      LogEventRow(
        .warning, "credential credential_generation detail",
        "The source of the credential can no longer be used. bearerd continues to use the previous value.",
        todo: "Repair its source as `detail` says. After a restart, the credential would have no value.")
    case .descriptorLimit:
      LogEventRow(
        .notice, "connections wanted help",
        "The system allows file descriptors for fewer connections than `limits.connections`.",
        todo: "Raise `LimitNOFILE=` of the unit, or `ulimit -n`.")
    case .listenFailed:
      LogEventRow(
        .error, "detail",
        "A reload added a listener and bound its address, but the system does not let it listen.",
        todo: "Solve the problem in `detail`, and restart bearerd.")
    case .listener:
      LogEventRow(
        .warning, "listener detail help",
        "A listener accepts connections, but its socket from systemd does not match everything in the configuration.",
        todo: "Do what `help` says.")
    case .listening:
      LogEventRow(
        .notice, "listener held_by address",
        "A listener accepts connections at `address`. `held_by=systemd` means that systemd has bound the socket.")
    case .logLinesDropped:
      LogEventRow(
        .warning, "count",
        "bearerd dropped `count` log lines, because the reader of the log is too slow.",
        todo: "Check the program that reads the log. The metrics still count every request.")
    case .loggedIn:
      LogEventRow(
        .notice, "credential detail", "A login was successful. Its token is stored, and bearerd now uses it.")
    case .loggedOut:
      LogEventRow(
        .notice, "credential requests connections cookies",
        "`bearerctl logout` ended these numbers of requests, idle connections and cookies with the credential.")
    case .loginBegun:
      LogEventRow(.notice, "credential", "`bearerctl login` has started a login.")
    case .loginCancelled:
      LogEventRow(
        .notice, "credential detail", "A login ended without a result, because `bearerctl login` was interrupted.")
    case .loginFailed:
      LogEventRow(
        .notice, "credential detail", "A login ended without a token.",
        todo: "Solve the problem in `detail`, and run `bearerctl login` again.")
    case .loginNotStored:
      LogEventRow(
        .error, "credential detail",
        "bearerd could not store what the authorization server sent for a login.",
        todo: "Make the state directory writable. bearerd tries again by itself, and uses no new token until then.")
    case .loginNotWiped:
      LogEventRow(
        .error, "credential detail",
        "A logout could not delete a login from the state directory.",
        todo: "Make the state directory writable, and run `bearerctl logout` again.")
    case .loginRequired:
      LogEventRow(
        .error, "credential detail",
        "The credential has no token, and bearerd cannot get one before a person logs in. Requests get 503.",
        todo: "Run `bearerctl login`, or write a new refresh token or password into its file.")
    case .loopStalled:
      LogEventRow(
        .warning,
        "worker milliseconds cpu-milliseconds steps longest-step longest-step-milliseconds omitted",
        "One turn of a worker's event loop took 100 ms or more. All connections of that worker waited.",
        todo: "Check whether the processors are overloaded or a file system is slow. If not, report this as a bug.")
    case .loopStuck:
      LogEventRow(
        .error, "worker step milliseconds detail",
        "A worker's event loop is stuck in one step, so bearerd no longer reports to systemd that it is healthy.",
        todo: "Let systemd restart bearerd, and report the step as a bug.")
    case .memoryNotLocked:
      LogEventRow(
        .warning, "detail",
        "The system allows too little locked memory, so secrets could be written to swap.",
        todo: "Raise `LimitMEMLOCK=` of the unit, or `ulimit -l`.")
    case .noControlSocket:
      LogEventRow(
        .warning, "path detail help",
        "There is no control socket, so `bearerctl` cannot reach this daemon. SIGHUP still reloads the configuration.",
        todo: "Do what `help` says.")
    case .pin:
      LogEventRow(
        .warning, "upstream detail",
        "The pins of an upstream do not match its certificates and are set to report only, or bearerd has advice on the pins.",
        todo: "Find out why the keys changed. `bearerctl pin` shows the keys that you can pin.")
    case .proxyNotUsed:
      LogEventRow(
        .notice, "names help",
        "The environment variables in `names` set a proxy, but bearerd does not use a proxy.",
        todo: "Let bearerd reach each upstream directly, or remove these variables from its environment.")
    case .rateLimited:
      LogEventRow(
        .warning, "service rule uid client rate refused help",
        "One caller sent more requests than `rate` of the service or the rule allows. One line covers many refusals.",
        todo: "Check what this caller runs, or raise `rate`.")
    case .ready:
      LogEventRow(.notice, "version configuration", "The daemon has started and accepts requests.")
    case .refusalsNotLogged:
      LogEventRow(
        .warning, "count detail",
        "bearerd did not log `count` refused requests of users who are not allowed, or over a network without a client token.",
        todo: "Find out who sends them. The metrics count all of them.")
    case .reloadFailed:
      LogEventRow(
        .error, "detail still",
        "A reload failed. The previous configuration is still in use.",
        todo: "Solve the problem in `detail` or in the lines before this one, and reload again.")
    case .reloaded:
      LogEventRow(
        .notice, "generation",
        "The configuration was reloaded and is in use. `generation` counts the loads since the daemon started.")
    case .request:
      LogEventRow(
        .info, or: .warning,
        """
        service rule upstream credential credential_generation uid unit client method path status refused up down ms \
        generation removed repaired dropped preflight credential_rejected redacted withheld retried reused renewed \
        aborted reason detail help
        """,
        "One request and its response. A warning if bearerd refused, redacted or withheld something, or the upstream rejected the credential."
      )
    case .revoked:
      LogEventRow(
        .notice, "exchanges",
        "A reload no longer allows `exchanges` requests in progress. bearerd cuts them after `limits.revoked_grace`.")
    case .secretsNotWatched:
      LogEventRow(
        .warning, "directory detail",
        "bearerd cannot watch for changes of secrets in `directory`, or of any secret if the line has no `directory`.",
        todo: "Reload after each change, or raise `fs.inotify.max_user_watches` or `max_user_instances`.")
    case .socketNotUsed:
      LogEventRow(
        .warning, "name address detail help",
        "systemd passed a socket that no listener uses. bearerd closed it.",
        todo: "Write `address: systemd:NAME` in a listener, or remove it from the socket unit. Then restart bearerd.")
    case .stopped:
      LogEventRow(.notice, "cut", "The daemon stops, and cuts `cut` connections that were still busy.")
    case .stopping:
      LogEventRow(
        .notice, "connections", "The daemon is stopping. `connections` connections may finish their requests.")
    case .systemdCredentials:
      LogEventRow(
        .notice, "credentials detail",
        "The reload read these credentials again from systemd, which may still have the values from the start of the unit.",
        todo: "Restart bearerd if they have changed.")
    case .tokenFailed:
      LogEventRow(
        .warning, "credential detail",
        "A token endpoint gave no usable token. bearerd asks it again by itself.",
        todo: "Solve the problem in `detail`. `bearerctl status` shows when bearerd asks again.")
    case .tokenNotRevoked:
      LogEventRow(
        .warning, "credential token detail",
        "After a logout, bearerd did not revoke this token at the server, or could not.",
        todo: "Revoke the token at the server yourself, or let it expire.")
    case .tokenRemark:
      LogEventRow(
        .notice, "credential detail",
        "A token is usable, but something in the response that contained it is unusual. Logged once.",
        todo: "Compare `scope` and the clocks with `detail`.")
    case .tokenRevoked:
      LogEventRow(.notice, "credential token", "After a logout, the server revoked this token.")
    case .tokenStorm:
      LogEventRow(
        .warning, "credential detail",
        "bearerd asked for several tokens in a short time and still needs one. The next request for a token has to wait.",
        todo: "Find out why the upstream rejects new tokens. Usually the scope or the audience does not match the API.")
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
