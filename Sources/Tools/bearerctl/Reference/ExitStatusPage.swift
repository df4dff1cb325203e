internal import Console

extension ReferencePage {
  static var exitStatus: ReferencePage {
    ReferencePage(
      "exit-status.md",
      """
      # Exit statuses

      Look up what an exit status of `bearerctl` or `bearerd` means. Statuses from 66 are those of `sysexits.h`.

      | status | bearerctl | bearerd |
      |---|---|---|

      """
        + ExitStatus.allCases.map { status in
          "| \(status.rawValue) | \(status.meaning) | \(status.meaningForDaemon.map { "\($0)" } ?? "") |\n"
        }.joined() + """

          `bearerctl run` returns the status of the program that it runs. With `Restart=on-failure`, the systemd units start
          bearerd again after 71, and not after 2.

          """)
  }
}
