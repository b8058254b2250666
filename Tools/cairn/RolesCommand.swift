import ArgumentParser
import Cairn
import CairnToolText

/// `cairn roles`: who may do what in a shareable datastore.
struct RolesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "roles",
    abstract: "Lists, gives and takes away roles in a shareable datastore.",
    discussion: """
      Principals are public (everybody who knows the id), team (the owner's organisation) and \
      user:NAME; roles are viewer and editor. The datastore's id starts with a dot. Roles bind \
      well-behaved programs: nothing keeps those out that can write into the folder.
      """,
    subcommands: [List.self, Set.self, Delete.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Lists the roles, and what the user of this root may do.")

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
      try store.withDatastore { datastore in
        let roles = try datastore.listRoles().map { (name: text($0.key), role: text($0.value)) }
          .sorted { $0.name < $1.name }
        let effective = text(datastore.effectiveRole)
        try report.print(
          [
            "roles": .array(
              roles.map { ["principal": .string($0.name), "role": .string($0.role)] }),
            "effective": .string(effective), "writable": .bool(datastore.isWritable),
          ],
          text: columns(roles.map { [$0.name, $0.role] } + [["(here)", effective]]))
      }
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set", abstract: "Gives a principal a role, as one commit.")

    @Argument(help: "public, team or user:NAME.")
    var principal: PrincipalArgument

    @Argument(help: "viewer or editor; none takes the role away.")
    var role: RoleArgument

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws { try RolesCommand.change(principal, to: role.role, store, report) }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "delete", abstract: "Takes a principal's role away, as one commit.")

    @Argument(help: "public, team or user:NAME.")
    var principal: PrincipalArgument

    @OptionGroup var store: StoreOptions
    @OptionGroup var report: ReportOptions

    func run() throws { try RolesCommand.change(principal, to: .none, store, report) }
  }

  private static func change(
    _ argument: PrincipalArgument, to role: Role, _ store: StoreOptions, _ report: ReportOptions
  ) throws {
    try store.withDatastore(.writing) { datastore in
      try datastore.setRole(role, for: argument.principal)
      let committed = try datastore.sync().committed
      let principal = text(argument.principal)
      try report.print(
        [
          "principal": .string(principal), "role": .string(text(role)),
          "committed": .bool(committed),
        ],
        text: ["\(principal) \(text(role))"])
    }
  }
}

private func text(_ principal: Principal) -> String {
  switch principal {
  case .team: "team"
  case .publicAccess: "public"
  case .user(let name): "user:" + JSON.string(name).text.dropFirst().dropLast()
  }
}

private func text(_ role: Role) -> String {
  switch role {
  case .none: "none"
  case .viewer: "viewer"
  case .editor: "editor"
  case .owner: "owner"
  }
}

/// A principal as it is written on the command line.
struct PrincipalArgument: ExpressibleByArgument {
  var principal: Principal

  init?(argument: String) {
    switch argument {
    case "team": principal = .team
    case "public": principal = .publicAccess
    default:
      guard argument.hasPrefix("user:"), argument.count > 5 else { return nil }
      principal = .user(String(argument.dropFirst(5)))
    }
  }
}

/// A role that can be given.
enum RoleArgument: String, ExpressibleByArgument, CaseIterable {
  case none, viewer, editor

  var role: Role {
    switch self {
    case .none: .none
    case .viewer: .viewer
    case .editor: .editor
    }
  }
}
