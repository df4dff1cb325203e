// The keys of `login`, and of what calls a credential expired.

package enum LoginKey: String, ConfigurationKey {
  package static let kind = "\"login\""
  case url, form, json, token, cookie, header
  case expiresIn = "expires_in"
  case lifetime, pins
  case backupPin = "backup_pin"
  case pinMode = "pin_mode"
  case pinsExpire = "pins_expire"
  case caFile = "ca_file"
  case allowAddresses = "allow_addresses"
  case renewAhead = "renew_ahead"
  case skew, timeout
  case replayBuffer = "replay_buffer"
  case refreshOn = "refresh_on"
}

package enum LoginHeaderKey: String, ConfigurationKey {
  package static let kind = "the header of a login"
  case name, prefix
}

package enum RefreshOnKey: String, ConfigurationKey {
  package static let kind = "an answer of \"refresh_on\""
  case status, field, value
}
