"""What is said when somebody applies what others own."""

from http import HTTPStatus

from maar.embedded.failures import ApiError
from maar.embedded.patch.fields import Fields, in_reading_order, shown
from maar.embedded.patch.owners import Owners


def refuse_conflicts(owners: Owners, fields: Fields) -> None:
    """Refuse to give the fields other values where somebody owns them."""
    shared = {one: in_reading_order(owners[one].fields & fields) for one in sorted(owners)}
    conflicts = {one: [shown(path) for path in paths] for one, paths in shared.items() if paths}
    if conflicts:
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {one}", "field": path}
            for one, paths in conflicts.items()
            for path in paths
        ]
        lines = [f"conflicts with {one}:\n- " + "\n- ".join(paths) for one, paths in conflicts.items()]
        told = f"{len(causes)} conflicts: " + "\n".join(lines)
        if len(causes) == 1:
            told = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
        raise ApiError(HTTPStatus.CONFLICT, "Conflict", f"Apply failed with {told}", {"causes": causes})
